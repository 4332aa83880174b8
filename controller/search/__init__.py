"""Searches over a job's index and ledger together: exact sets of items, hit reports, tags, saved searches."""
