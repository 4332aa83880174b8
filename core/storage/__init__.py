"""The storage layer: what touches corpora, items and published index files (design §4)."""
