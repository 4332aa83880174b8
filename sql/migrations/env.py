"""Alembic's environment: runs on the connection that `sql.migrate` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from sql.models import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
