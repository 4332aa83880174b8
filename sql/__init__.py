"""The database: tables, grants, the task ledger and bulk loading."""
