"""Reviews a change: a summary by file, and findings at lines that exist. Proposes commit messages, too."""
