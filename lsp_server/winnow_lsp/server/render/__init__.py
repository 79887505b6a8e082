"""What a client sees: results as JSON or Markdown, progress, status, pages."""
