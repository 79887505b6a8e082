"""The target in this process: llama.cpp on a thread of its own. `target` is the way in."""
