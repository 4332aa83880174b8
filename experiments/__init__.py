"""Experiments: points over workers and databases, run in random order and paired with null storage."""
