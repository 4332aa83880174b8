"""The content of jobs: items, texts, counts, searches."""
