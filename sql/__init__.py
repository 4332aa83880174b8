"""The database: tables, migrations, the task ledger and bulk loading."""
