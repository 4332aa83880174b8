"""Results: their schema, the codec that reads and writes them, what they may claim, and comparison of results."""
