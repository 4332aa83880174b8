"""All tables. No version has been released, so that a change of the models needs no migration: this makes what they are now.
With the first release its statements are written out here, and a change becomes a revision of its own.

Databases of earlier development versions have other revisions and are refused.
"""

from __future__ import annotations

from alembic import op

from sql.models import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables of the models."""
    metadata.create_all(op.get_bind())
