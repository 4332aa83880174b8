"""DeNIST: items whose hash is on a list of known software files."""
