"""`edbench profile`: what corpora can be made of, and storage tests that are run."""

ALL = "all"  # every one that is run, with a discovery
