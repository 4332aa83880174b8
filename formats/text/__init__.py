"""Plain text and HTML."""
