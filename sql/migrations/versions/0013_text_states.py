"""Texts whose charset was guessed, and texts that are not whole."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_STATES = "ok guessed partial empty no_text_layer encrypted unsupported failed truncated_by_limit"


def upgrade() -> None:
    """Two more values of a text's state."""
    name = op.f("ck_item_text_state_known")
    op.drop_constraint(name, "item_text", type_="check")
    states = ", ".join(f"'{state}'" for state in _STATES.split())
    op.create_check_constraint(name, "item_text", f"state IN ({states})")
