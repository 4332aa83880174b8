"""Makes corpora with complete ground truth, from a seed."""
