"""Counts and rows of the unpack engine over a space of inputs."""

from __future__ import annotations

import random
from functools import cache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unpacking import Unpacked, make_docx, make_mail, make_mbox, make_tar, make_zip, unpack

from core.records import JobOptions, Limits

_QUIET = settings(suppress_health_check=list(HealthCheck))


@cache
def _mbox() -> bytes:
    mails = [make_mail(f"s{n}", "line\n" * (n % 7), {"a.bin": b"x" * n} if n % 3 else {}) for n in range(25)]
    return make_mbox(*mails)


@cache
def _zip() -> bytes:
    members = {f"{n}.txt": random.Random(n).randbytes(n * 7) for n in range(20)}
    return make_zip(members | {"m.mbox": _mbox()[:3_000], "d.docx": make_docx(), "dir/": b""})


@given(st.integers(1, 9_000), st.sampled_from(["mbox", "zip", "tgz"]))
@_QUIET
def test_split_or_not_the_same_items(split_bytes: int, kind: str) -> None:
    """However a container is cut into ranges, every child is found exactly once, with the same id and row. (The limits
    are out of reach: what is left to others is divided among them, and ranges of a byte have shares of a few.)"""
    data = {"mbox": _mbox, "zip": _zip, "tgz": lambda: make_tar({"a.zip": _zip(), "b.txt": b"b"})}[kind]()
    whole = unpack(b"c", data)
    limits = Limits(expansion_floor=10**12, children=10**12, hand_ons=10**12)
    parts = unpack(b"c", data, options=JobOptions(split_bytes=split_bytes, limits=limits), defer=True)
    assert sorted(map(repr, parts.out.items)) == sorted(map(repr, whole.out.items))
    assert parts.counts() == whole.counts()


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from([_zip(), _mbox(), make_tar({"a": b"a" * 600, "b": b"b"})])))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["flip", "cut", "drop", "double", "directory"]))
        length = draw(st.integers(1, 64))
        if kind == "flip" and data:
            data[at] ^= draw(st.integers(1, 255))
        elif kind == "cut":
            del data[at:]
        elif kind == "drop":
            del data[at : at + length]
        elif kind == "double":
            data[at:at] = data[at : at + length]
        elif (found := data.find(b"PK\x01\x02", at)) >= 0:  # damage to the directory is rare among random places
            data[found + draw(st.integers(0, 45))] = draw(st.integers(0, 255))
    return bytes(data)


def _adds_up(found: Unpacked) -> None:
    """expected = emitted + failed, emitted are the rows, and every loss has its exception."""
    rows: dict[object, int] = {}
    for item in found.out.items:
        rows[item.parent] = rows.get(item.parent, 0) + 1
    missing: dict[object, int] = {}
    for e in found.out.exceptions:
        assert e.detail
        if e.level.value == "node":
            missing[e.item] = missing.get(e.item, 0) + (1 if e.missing is None else e.missing)
    counts = found.counts()
    for ident, (announced, emitted, failed, unknown) in counts.items():
        assert emitted == rows.get(ident, 0)
        assert failed == missing.get(ident, 0)
        if announced is not None and not unknown:
            assert announced == emitted + failed
    assert {p for p in rows if p is not None} <= set(counts)
    assert len({item.id for item in found.out.items}) == len(found.out.items)


@given(_damaged(), st.sampled_from([200, 10**9]))
@_QUIET
def test_the_counts_add_up_whatever_the_damage(data: bytes, split_bytes: int) -> None:
    limits = Limits(expansion_floor=60_000, expansion_ratio=1.0, children=60, depth=3)
    options = JobOptions(limits=limits, split_bytes=split_bytes)
    found = unpack(b"c", data, options=options, defer=True)
    _adds_up(found)
    assert unpack(b"c", data, options=options, defer=True).out == found.out
