"""RAR archives."""
