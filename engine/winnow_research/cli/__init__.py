"""`winnow bench`, `winnow train` and `winnow calibrate`. `winnow` imports each when it is called."""
