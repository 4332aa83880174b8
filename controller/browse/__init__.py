"""Looking through what jobs found: items, texts, counts, searches."""
