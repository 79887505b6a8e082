"""Output for clients: results as JSON or Markdown, progress, status, pages."""
