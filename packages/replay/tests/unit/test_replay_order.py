"""Traces that happened are explained: every call's outcome follows from the calls before it in the order found."""

from __future__ import annotations

from hypothesis import given
from lived_traces import traces

from replay.order import Order
from replay.world import Survey, World
from traces.model import MemoryTrace


@given(traces())
def test_every_outcome_is_explained(trace: MemoryTrace) -> None:
    survey = Survey(trace)
    order = Order(trace, range(len(trace.streams)), World(survey), survey.parents)
    plays = list(order)
    assert [(p.call, p.expected) for p in plays if p.expected != p.call.error] == []
    assert order.adapted == 0
    for stream, calls in enumerate(trace.streams):
        assert [play.call for play in plays if play.stream == stream] == list(calls)
