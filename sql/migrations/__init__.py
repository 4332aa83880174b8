"""Alembic migrations of the schema: one file in `versions` for each schema change."""
