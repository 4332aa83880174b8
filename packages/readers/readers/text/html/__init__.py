"""HTML."""
