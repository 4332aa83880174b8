"""Which format bytes are in."""
