"""Bytes and JSON-RPC: transport, framing, protocol, and requests as types."""
