"""Threads: who hangs below whom, whatever the order, and whatever nonsense References hold."""

import random
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.findings import below_parents
from core.records import Limits
from readers.base import MemorySource
from readers.mail.eml import EmlHandler
from readers.records import NO_FIELDS
from review.threads.linking import By, Mail, Place, Threads, base_subject


def _linked(*messages: Mail, subjects: bool = False) -> dict[str, Place]:
    places = Threads().link(messages, subjects=subjects)
    return {mail.key: place for mail, place in zip(messages, places, strict=True)}


def _shown(places: dict[str, Place]) -> dict[str, tuple[str | None, int, By]]:
    """Parent by key, depth, and what put it there."""
    keys = {place.node: key for key, place in places.items()}
    return {key: (None if p.parent is None else keys[p.parent], p.depth, p.by) for key, p in places.items()}


def test_an_answer_hangs_below_the_last_of_its_references() -> None:
    places = _linked(
        Mail("a"),
        Mail("b", references=("a",)),
        Mail("d", references=("a", "b", "lost")),
        Mail("e", in_reply_to="d"),
        Mail("other"),
    )
    assert _shown(places) == {
        "a": (None, 0, By.NOTHING),
        "b": ("a", 1, By.REFERENCES),
        "d": ("b", 2, By.REFERENCES),
        "e": ("d", 3, By.IN_REPLY_TO),
        "other": (None, 0, By.NOTHING),
    }
    assert len({place.thread for place in places.values()}) == 2


def test_what_a_message_states_of_itself_counts_more_than_what_others_say() -> None:
    places = _linked(
        Mail("a", sent="1"), Mail("d", references=("c", "b", "a"), sent="0"), Mail("c", references=("a",), sent="2")
    )
    assert _shown(places)["c"] == ("a", 1, By.REFERENCES)


def test_rings_and_self_references_do_no_harm() -> None:
    places = _linked(Mail("a", references=("c",)), Mail("b", references=("a",)), Mail("c", references=("b", "c")))
    assert sorted(place.depth for place in places.values()) == [0, 1, 2]
    assert len({place.thread for place in places.values()}) == 1
    assert _shown(_linked(Mail("x", references=("x", "x"), in_reply_to="x"))) == {"x": (None, 0, By.NOTHING)}


def test_copies_are_one_node_and_share_what_they_say() -> None:
    first, second, answer = Threads().link(
        [Mail("a", references=("top",)), Mail("a"), Mail("b", references=("a",))], subjects=False
    )
    assert (first.node, first.thread, first.by) == (second.node, second.thread, second.by)
    assert answer.parent == first.node


def test_a_conversation_index_places_what_refers_to_nothing() -> None:
    head, one, two = "01" * 22, "0a" * 5, "0b" * 5
    places = _linked(
        Mail("a", conversation=head), Mail("b", conversation=head + one), Mail("c", conversation=head + one + two + one)
    )
    assert _shown(places) == {
        "a": (None, 0, By.NOTHING),
        "b": ("a", 1, By.CONVERSATION),
        "c": ("b", 2, By.CONVERSATION),
    }
    orphans = _linked(
        Mail("b", conversation=head + one), Mail("c", conversation=head + two), Mail("d", references=("z",))
    )
    assert orphans["b"].thread == orphans["c"].thread != orphans["d"].thread


def test_subjects_only_when_asked_for_and_only_of_answers() -> None:
    messages = (
        Mail("a", subject="Budget", sent="1"),
        Mail("b", subject="AW: [list] Re[2]:  budget", sent="2"),
        Mail("c", subject="budget", sent="3"),
        Mail("d", subject="Re:", sent="4"),
        Mail("before", subject="Re: budget", sent="0"),
        Mail("undated", subject="Re: budget"),
    )
    assert {place.by for place in _linked(*messages).values()} == {By.NOTHING}
    assert _shown(_linked(*messages, subjects=True)) == {
        "a": (None, 0, By.NOTHING),
        "b": ("a", 1, By.SUBJECT),
        "c": (None, 0, By.NOTHING),
        "d": (None, 0, By.NOTHING),
        "before": (None, 0, By.NOTHING),
        "undated": ("a", 1, By.SUBJECT),
    }


@pytest.mark.parametrize(
    ("subject", "base"),
    [
        ("Re: Fwd: [x] A  b", "a b"),
        ("re[4]: a", "a"),
        ("Regards", "regards"),
        ("", ""),
        ("[only]", ""),
        ("WG: AW: ß", "ß"),
    ],
)
def test_base_subjects(subject: str, base: str) -> None:
    assert base_subject(subject) == base


def test_a_chain_of_any_length_is_followed() -> None:
    count = 20_000
    chain = [Mail(str(n), references=(str(n - 1),) if n else ()) for n in range(count)]
    random.Random(1).shuffle(chain)
    places = _linked(*chain)
    assert {key: place.depth for key, place in places.items()} == {str(n): n for n in range(count)}
    assert len({place.thread for place in places.values()}) == 1


_KEYS = st.sampled_from("abcdefgh")
_MAIL = st.builds(
    Mail,
    key=_KEYS,
    references=st.lists(_KEYS, max_size=5).map(tuple),
    in_reply_to=st.one_of(st.just(""), _KEYS),
    conversation=st.sampled_from(["", "01" * 22, "01" * 27, "01" * 32]),
    subject=st.sampled_from(["", "x", "Re: x"]),
    sent=st.sampled_from(["", "1", "2"]),
)


@given(st.lists(_MAIL, max_size=9), st.randoms(use_true_random=False), st.booleans())
def test_the_order_given_changes_nothing(messages: list[Mail], dice: random.Random, subjects: bool) -> None:
    shuffled = list(messages)
    dice.shuffle(shuffled)
    one, two = _linked(*messages, subjects=subjects), _linked(*shuffled, subjects=subjects)
    assert _shown(one) == _shown(two)
    assert {key: place.thread for key, place in one.items()} == {key: place.thread for key, place in two.items()}
    by_node = {place.node: place for place in one.values()}
    for place in one.values():
        above, steps = place.parent, 0
        while above is not None:
            assert by_node[above].thread == place.thread
            above, steps = by_node[above].parent, steps + 1
        assert steps == place.depth


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


def test_the_hash_of_no_fields_is_what_readers_give_for_none() -> None:
    """A damaged Outlook message has the content hash of a message without any field, and so has a message of trace fields:
    they would all be equal."""
    for data in (b"", b"Received: by mail.example; 1 Jan 2001 00:00:00 +0000\n\n \n"):
        hashes = EmlHandler().message_hashes(MemorySource(b"", data), Limits())
        assert hashes is not None
        assert hashes.content_hash == NO_FIELDS
