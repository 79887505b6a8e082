"""A command as a client of this user's shared server, which has the models loaded already."""
