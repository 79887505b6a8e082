"""What the language server, the HTTP API and the command line share: models loaded once, and a queue for them."""
