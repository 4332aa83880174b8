"""The storage layer: it makes all calls on corpora, items and published index files (design §4)."""
