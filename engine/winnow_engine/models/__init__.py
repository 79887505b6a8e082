"""Model files: which ones Winnow knows, where they lie, how they are pulled, what their headers say.

`registry` names them and holds the hashes of their parts, `cache` finds and verifies them on disk, `pull` fetches them
from `sources`, `gguf_header` reads any GGUF's header without its tensors.
"""
