"""The backend on a CUDA device: encoder and readout, with the weights and products they share."""
