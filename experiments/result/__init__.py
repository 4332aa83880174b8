"""Results: their schema, the codec that reads and writes them, what they may claim, and two of them side by side."""
