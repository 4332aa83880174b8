"""Near-duplicates: texts that are nearly the same."""
