"""Plain text, HTML, program source, logs and records."""
