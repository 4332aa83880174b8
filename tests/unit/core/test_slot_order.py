"""The order in which slots look at the databases' queues, for workers and simulation."""

import pytest

from core.celery_app import own_first, takes_turns


@pytest.mark.parametrize(("databases", "slots"), [(1, 1), (2, 4), (3, 4), (4, 4)])
def test_every_database_is_some_slots_own(databases: int, slots: int) -> None:
    """Promise: with no more databases than slots, each is first for about as many slots as every other, and none is left out."""
    orders = [own_first(range(databases), slot, slots) for slot in range(slots)]
    firsts = [order[0] for order in orders]
    counts = [firsts.count(number) for number in range(databases)]
    assert max(counts) - min(counts) <= 1
    assert min(counts) >= 1
    assert all(sorted(order) == list(range(databases)) for order in orders)
    assert not takes_turns(databases, slots)


def test_more_databases_than_slots_are_taken_in_turn() -> None:
    """Promise: no database is without a slot: all slots go round."""
    assert takes_turns(5, 4)
    assert [own_first(range(5), slot, 4) for slot in range(4)] == [[0, 1, 2, 3, 4]] * 4
