"""One op a file. Each file holds the CPU kernel and, named `*_numpy`, the NumPy twin that defines it."""
