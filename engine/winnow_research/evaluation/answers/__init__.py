"""Shares of right answers: the target gives back functions, from the code that each method keeps."""
