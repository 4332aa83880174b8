"""Result packages: what was observed, what is computed from it, the hashes of both, and whether they fit each other."""
