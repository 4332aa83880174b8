"""Jobs that write files out of the items of other jobs: extraction, processing and export (docs/production.md)."""
