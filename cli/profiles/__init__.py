"""`edbench profile`: what corpora can be made of, and storage tests that are run."""
