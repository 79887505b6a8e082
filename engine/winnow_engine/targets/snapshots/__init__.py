"""What a local target has read, kept on disk: the files, the writer, and the policy that decides when."""
