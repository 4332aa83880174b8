"""Pools of which documents are made, all built when this module is imported.

Sentences, rows of pictures and records do not depend on a corpus (2 s of CPU time, 40 MB). The processes that write a
corpus are forked from a server that has imported this: they share the pools, and none of them waits for its own."""

from __future__ import annotations

import signal

from dataset_gen import faults
from dataset_gen.material.text import LANGUAGES, foreign, prose
from dataset_gen.mix import FormatMix, Profile
from dataset_gen.workshop import BUILDERS, CONTAINERS, Workshop

_BYTES = 3_000  # enough for a document that takes from its format's pool


def fill() -> None:
    """Build what is kept for the life of a process."""
    prose()
    for language in LANGUAGES[1:]:
        foreign(language)
    documents = sorted(set(BUILDERS) - CONTAINERS - set(faults.FILES) - {"tnef", "msg"})
    mix = FormatMix(loose=1, member=1, attached=1, median=_BYTES, sigma=0, largest=_BYTES)
    profile = Profile(
        name="pools",
        version=1,
        about="",
        raw_bytes=1,
        digest="",
        custodians=(),
        formats=dict.fromkeys(documents, mix),
        terms={"token_share": 0.0, "phrase_share": 0.0},
    )
    shop = Workshop(profile, 0, 1.0)
    for fmt in documents:
        shop.document(fmt, "pool", _BYTES)


def _uninterrupted() -> None:
    """Fill the pools without Ctrl-C, which is for the process that the user started: the server of the others has no
    handler of its own yet."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        fill()
    finally:
        signal.signal(signal.SIGINT, before)


_uninterrupted()
