"""What is known about a corpus: its manifest, the facts measured from it, and the check against it."""
