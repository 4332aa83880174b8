"""Jobs that extract, process and export: what is asked for, which items are taken, where they are written
(docs/production.md)."""
