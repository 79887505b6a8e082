"""Winnow's numeric kernels: arrays in, arrays out. No files, no environment, no engine."""
