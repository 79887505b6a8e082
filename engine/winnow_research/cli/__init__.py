"""`winnow bench`, `winnow train` and `winnow calibrate`, which `winnow` loads when they are called."""
