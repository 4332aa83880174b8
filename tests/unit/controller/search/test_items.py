"""Sets of items as columns of numbers."""

from __future__ import annotations

import uuid

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controller.search.items import NO_FAMILY, JobItems
from search.found import item_ids, uuids

halves = st.integers(0, 3) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1])
ids = st.tuples(halves, halves).map(lambda pair: uuid.UUID(int=pair[0] << 64 | pair[1]))


def _items(known: list[uuid.UUID], families: list[int]) -> JobItems:
    return JobItems(
        item_ids(each.bytes for each in known),
        np.array(families, dtype=np.int64),
        np.zeros(len(known), dtype=np.int64),
        {0: "ann"},
    )


@given(st.lists(ids, unique=True), st.lists(ids))
def test_positions_are_those_of_the_ids_that_are_known(known: list[uuid.UUID], asked: list[uuid.UUID]) -> None:
    known = sorted(known)
    items = _items(known, [NO_FAMILY] * len(known))
    wanted = item_ids(each.bytes for each in asked)
    assert uuids(wanted) == asked
    assert items.positions(wanted).tolist() == [known.index(each) for each in asked if each in known]


@given(st.data(), st.integers(1, 12))
def test_families_are_whole(data: st.DataObject, size: int) -> None:
    families = data.draw(st.lists(st.integers(NO_FAMILY, size - 1), min_size=size, max_size=size))
    hits = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    found = _items([uuid.UUID(int=n) for n in range(size)], families).with_families(np.array(hits))
    of_hits = {families[n] for n in range(size) if hits[n]} - {NO_FAMILY}
    assert found.tolist() == [hits[n] or families[n] in of_hits for n in range(size)]
