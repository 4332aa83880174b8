"""Processing of items: opening, unpacking, taking the text, storing children, writing findings."""
