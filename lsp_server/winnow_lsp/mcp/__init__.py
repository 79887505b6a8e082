"""The Model Context Protocol: what agents ask of a repository, as tools with typed results.

A process of the agent's, `winnow mcp`, passes bytes to and from a server that keeps the models loaded.
"""
