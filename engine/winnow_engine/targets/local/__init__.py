"""The target in this process: llama.cpp on a thread of its own. Start reading at `target`."""
