"""The backend on a CUDA device: encoder, readout and scorer, with the weights and products they share."""
