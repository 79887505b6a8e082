"""The backend that runs everywhere: an encoder and a scorer on the CPU."""
