"""Reviews of a job's items once it is over: duplicates, system files, threads (docs/review.md)."""
