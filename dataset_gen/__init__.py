"""Generator of corpora with complete ground truth, from a seed."""
