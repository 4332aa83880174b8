"""A thread as it is drawn: each message below the one that it answers."""

from __future__ import annotations

from operator import itemgetter

from controller.findings import below_parents


def _drawn(*rows: tuple[str, str | None]) -> str:
    return "".join(own for own, _ in below_parents(rows, itemgetter(0), itemgetter(1)))


def test_an_answer_stands_below_its_question_whatever_came_in_between() -> None:
    """By date a question, two answers, and an answer to the first of them: it is none to the second."""
    assert _drawn(("a", None), ("b", "a"), ("c", "a"), ("d", "b")) == "abdc"


def test_several_threads_stay_apart_and_in_their_order() -> None:
    assert _drawn(("a", None), ("d", "b"), ("b", "a"), ("x", "lost"), ("z", "y"), ("y", "x")) == "abdxyz"
    assert _drawn() == ""


def test_a_long_chain_uses_no_stack() -> None:
    chain = [(n, n - 1 if n else None) for n in range(100_000)]
    assert below_parents(chain[::-1], itemgetter(0), itemgetter(1)) == chain
