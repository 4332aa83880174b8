"""Ground truth of a corpus: its manifest, the facts measured from it, and the check against it."""
