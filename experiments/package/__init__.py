"""Result packages: observations, what is computed from them, the hashes of both, and the check that they fit each
other."""
