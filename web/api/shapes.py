"""Converts records of the controller to models of the API."""

from __future__ import annotations

from collections.abc import Sequence

from controller.browse.counted import Counted, TextCount, children_of, exceptions_of, phases_of
from controller.browse.counts import JobCounts
from web.api.models.items import Piece
from web.api.models.jobs import JobCounts as Counts


def counts_of(database: str, counts: JobCounts) -> Counts:
    """The counts of one job."""
    return Counts(
        id=counts.summary.job.id,
        database=database,
        items=counts.items,
        containers=counts.containers,
        loose_files=counts.loose_files,
        index_bytes=counts.progress.index_bytes,
        phases=phases_of(counts),
        kinds=[Counted(**row._asdict()) for row in counts.kinds],
        media_types=[Counted(**row._asdict()) for row in counts.media_types],
        texts=[TextCount(**row._asdict()) for row in counts.texts],
        exceptions=list(exceptions_of(counts)),
        children=children_of(counts),
        violations=counts.violation_lines,
    )


def pieces(snippet: str, start: str, stop: str) -> list[Piece]:
    """A snippet cut at its marks; white space is one blank."""
    out: list[Piece] = []
    for number, part in enumerate(" ".join(snippet.split()).split(start)):
        marked, mark, rest = part.partition(stop)
        if number and mark:
            out.append(Piece(text=marked, match=True))
            part = rest
        if part:
            out.append(Piece(text=part.replace(stop, ""), match=False))
    return out


def cut(text: str, matches: Sequence[tuple[int, int]]) -> list[Piece]:
    """A text cut where its matches begin and end."""
    out, done = [], 0
    for first, last in matches:
        out += [Piece(text=text[done:first], match=False), Piece(text=text[first:last], match=True)]
        done = last
    return [piece for piece in (*out, Piece(text=text[done:], match=False)) if piece.text]
