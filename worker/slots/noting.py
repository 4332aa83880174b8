"""Records which parsers a slot has, once for each database, before a task refers to them."""

from __future__ import annotations

import uuid

from sql import ledger
from sql.session import Database
from worker.parsers import own_set
from worker.slots.context import SlotContext


def note_parsers(context: SlotContext, database: Database) -> uuid.UUID:
    """The id of the slot's parser set, which the database has by then, durably: a claim that it keeps may refer to it.
    Raises DatabaseFault."""
    if context.parsers is None:
        context.parsers = own_set()  # no box: it parses itself
    if database.name not in context.noted:
        with database.transaction(durable=True) as conn:
            ledger.note_parsers(conn, context.parsers.id, context.parsers.text)
        context.noted.add(database.name)
    return context.parsers.id
