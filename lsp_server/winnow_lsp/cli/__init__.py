"""The `winnow` command. One subcommand a file; `main` wires them and turns errors into exit codes."""
