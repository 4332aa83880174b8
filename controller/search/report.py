"""The hit report of a list of search terms: items, families, items that only one term finds, by custodian."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import Field

from controller.databases import JobHandle
from controller.search.evaluate import Evaluation
from controller.search.items import NO_FAMILY, JobItems, Mask
from controller.search.meaning import meaning, of_custodian, refuse_unknown, refuse_unknown_custodian
from controller.search.opened import Opened
from core.document import Document
from core.errors import UsageError, read_problem
from core.texts import many
from readers.charset import by_structure
from readers.charset_labels import by_mark
from search.language import parse
from search.query import Node

MOST_BYTES = 10_000_000
MOST_TERMS = 10_000
_SHOWN = 5
_LINE_END = re.compile(r"\r\n?|\n")  # as in a page's field; U+2028, form feeds and their like are blanks in a term
_HEAD = 4096  # bytes that show the structure of a list's character set


@dataclass(frozen=True, slots=True)
class Term:
    """One line of a list."""

    line: int
    text: str


def read_terms(path: Path, charset: str | None = None) -> tuple[tuple[Term, ...], str]:
    """Read the terms of a file, in that charset or in the one that its bytes indicate; return them and the charset.
    Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(read_problem(path, error)) from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path} has more than {MOST_BYTES:,} bytes; it is not a list of terms")
    used = charset or charset_of(data)
    try:
        text = data.decode(used)
    except LookupError as error:
        raise UsageError(f"there is no character set {used!r}; use for example utf-8, utf-16 or cp1252") from error
    except UnicodeError as error:
        where = f"byte {error.start + 1}" if isinstance(error, UnicodeDecodeError) else "it"
        raise UsageError(
            f"{path} is not in {used}: {where} is invalid; give its character set with --charset"
        ) from error
    return listed(_LINE_END.split(text.removeprefix("\ufeff")), str(path)), used


def charset_of(data: bytes) -> str:
    """Return the character set: by the byte order mark or by zero bytes as in UTF-16; else UTF-8 if the data is valid, and
    cp1252 otherwise. Words are too few for a detector."""
    if codec := by_mark(data)[0] or by_structure(data[:_HEAD]):
        return codec
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def listed(lines: Iterable[str], where: str) -> tuple[Term, ...]:
    """Return the lines that are not blank as terms, each a valid query. Raises UsageError that names every invalid
    line, the first few with the cause."""
    terms: list[Term] = []
    wrong: list[str] = []
    for line, text in enumerate(map(str.strip, lines), 1):
        if not text:
            continue
        if len(terms) == MOST_TERMS:
            raise UsageError(f"{where} has more than {MOST_TERMS:,} terms; split it into several lists")
        try:
            parse(text)
        except UsageError as error:
            wrong.append(f"line {line}: {error}" if len(wrong) < _SHOWN else "")
            continue
        terms.append(Term(line, text))
    if wrong:
        more = f"; and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise UsageError(f"{where}: {many(len(wrong), 'term')} cannot be parsed: {'; '.join(wrong[:_SHOWN])}{more}")
    if not terms:
        raise UsageError(f"{where} has no terms; write one a line")
    return tuple(terms)


_NONE, _SEVERAL = -1, -2
CSV_FIELDS = ("line", "term", "same_as_line", "custodian", "items", "items_with_family", "families", "unique_items", "unique_families")  # fmt: skip


class Hits(Document):
    """The numbers that a term finds, or all terms together."""

    items: int
    items_with_family: int = Field(description="Those, and everything in their families.")
    families: int = Field(description="Families with a hit; a standalone item is a family of its own.")
    unique_items: int = Field(description="Items that no other term of the list finds.")
    unique_families: int = Field(description="Families in which no other term of the list finds an item.")


class CustodianHits(Hits):
    """The numbers of one custodian."""

    custodian: str


class TermHits(Hits):
    """The numbers of one term."""

    line: int
    term: str
    same_as_line: int | None = Field(
        description="Line of the earlier term that means the same; one of the two is enough."
    )
    custodians: list[CustodianHits] = Field(description="Those with hits, by name.")


class HitReport(Document):
    """A list of terms and what each finds."""

    terms: list[TermHits]
    total: Hits = Field(description="Items that any term finds.")
    custodians: list[CustodianHits] = Field(description="The same by custodian.")
    searched_items: int = Field(description="Items of the jobs, whether they have text or not.")


@dataclass(slots=True)
class _Sums:
    """Counters over several jobs: five numbers for each (term, custodian); term None: any, custodian None: all."""

    each: dict[tuple[int | None, str | None], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, term: int | None, items: JobItems, mask: Mask, alone: Mask, alone_families: Mask) -> None:
        """Add the numbers of one job; `alone`: items that no other term finds, `alone_families`: the same of families'
        topmost items."""
        whole = items.with_families(mask)
        tops, topless = _families(items, mask)
        own_tops = tops & alone_families
        for name, some in (
            ("items", mask),
            ("items_with_family", whole),
            ("families", tops),
            ("unique_items", mask & alone),
            ("unique_families", own_tops),
        ):
            self._count(term, items, name, some)
        self._count(term, items, "families", topless)
        self._count(term, items, "unique_families", topless & alone)

    def _count(self, term: int | None, items: JobItems, name: str, mask: Mask) -> None:
        counts = np.bincount(items.custodians[mask], minlength=1)
        self.each[term, None][name] += int(counts.sum())
        for number in np.flatnonzero(counts).tolist():
            self.each[term, items.names.get(number, "")][name] += int(counts[number])

    def of(self, term: int | None) -> tuple[dict[str, int], list[CustodianHits]]:
        """Return the numbers of a term, and those of its custodians."""
        names = sorted(custodian for of, custodian in self.each if of == term and custodian is not None)
        hits = [CustodianHits(custodian=name, **self._numbers(term, name)) for name in names]
        return self._numbers(term, None), hits

    def _numbers(self, term: int | None, custodian: str | None) -> dict[str, int]:
        counts = self.each[term, custodian]
        return {name: counts[name] for name in Hits.model_fields}


def _families(items: JobItems, mask: Mask) -> tuple[Mask, Mask]:
    """Return the topmost items of the families that these items belong to, and those of the items that belong to
    none."""
    tops = np.zeros(len(items), dtype=np.bool_)
    of = items.families[mask]
    tops[of[of != NO_FAMILY]] = True
    return tops, mask & (items.families == NO_FAMILY)


def hit_report(
    handles: Sequence[JobHandle], opened: Opened, terms: Sequence[Term], *, custodian: str | None = None
) -> HitReport:
    """Report what each term finds in these jobs together, for one custodian if given. Raises UsageError, also for an
    unknown custodian; RunFailed, faults."""
    refuse_unknown_custodian(handles, custodian)
    asked = understood(handles, terms)
    _refuse_unknown(handles, asked)
    sums = _Sums()
    searched = 0
    for place, handle in enumerate(handles):
        with opened(handle) as index:
            evaluation = Evaluation(index)
            searched += len(evaluation.items)
            _add_job(sums, evaluation, asked, place, custodian)
    numbers, custodians = sums.of(None)
    return HitReport(
        terms=[_term_hits(sums, place, one, terms[one.first]) for place, one in enumerate(asked)],
        total=Hits(**numbers),
        custodians=custodians,
        searched_items=searched,
    )


@dataclass(frozen=True, slots=True)
class Understood:
    """A term, with its meaning in each job, and the position of the first term with the same meaning in all of them."""

    term: Term
    nodes: tuple[Node, ...]
    first: int


def understood(handles: Sequence[JobHandle], terms: Sequence[Term]) -> list[Understood]:
    """Return the terms with saved searches expanded: a saved search means the same as its query. Raises UsageError with
    the term's line."""
    out: list[Understood] = []
    seen: dict[tuple[Node, ...], int] = {}
    for place, term in enumerate(terms):
        try:
            nodes = tuple(meaning(handle, term.text) for handle in handles)
        except UsageError as error:
            raise UsageError(f"line {term.line}: {error}", field="terms") from error
        first = seen.setdefault(nodes, place)
        out.append(Understood(term, nodes if first == place else out[first].nodes, first))
    return out


def _refuse_unknown(handles: Sequence[JobHandle], asked: Sequence[Understood]) -> None:
    """Check all terms at once, because each name is looked up, and one after another only to report the line."""
    try:
        refuse_unknown(handles, [node for one in asked for node in one.nodes])
    except UsageError:
        for one in asked:
            try:
                refuse_unknown(handles, one.nodes)
            except UsageError as error:
                raise UsageError(f"line {one.term.line}: {error}", field="terms") from error
        raise


@dataclass(frozen=True, slots=True)
class _Set:
    """A compact set of items: ten thousand of them may be kept."""

    size: int
    positions: npt.NDArray[np.int32] | None
    bits: npt.NDArray[np.uint8] | None

    @classmethod
    def of(cls, mask: Mask) -> _Set:
        few = 32 * int(np.count_nonzero(mask)) <= len(mask)
        return cls(
            len(mask), np.flatnonzero(mask).astype(np.int32) if few else None, None if few else np.packbits(mask)
        )

    def mask(self) -> Mask:
        if self.bits is not None:
            return np.unpackbits(self.bits, count=self.size).view(np.bool_)
        out = np.zeros(self.size, dtype=np.bool_)
        out[self.positions] = True
        return out


def _term_hits(sums: _Sums, place: int, asked: Understood, first: Term) -> TermHits:
    numbers, custodians = sums.of(place)
    same = None if asked.first == place else first.line
    return TermHits(line=asked.term.line, term=asked.term.text, same_as_line=same, custodians=custodians, **numbers)


def _add_job(sums: _Sums, evaluation: Evaluation, asked: Sequence[Understood], job: int, custodian: str | None) -> None:
    """Add the numbers of one job. Terms with the same meaning count as one here: each finds what the other does, and
    neither makes the other's items less unique. `job`: the job's position in the nodes of the terms."""
    items = evaluation.items
    finds, top_finds = (np.full(len(items), _NONE, dtype=np.int32) for _ in range(2))
    found: dict[int, _Set] = {}  # by the term's place
    for place, one in enumerate(asked):
        if one.first == place:
            mask = evaluation.mask(of_custodian(one.nodes[job], custodian))
            found[place] = _Set.of(mask)
            _note(finds, mask, place)
            _note(top_finds, _families(items, mask)[0], place)
    for place, one in enumerate(asked):
        sums.add(place, items, found[one.first].mask(), finds == one.first, top_finds == one.first)
    sums.add(None, items, finds != _NONE, finds >= 0, top_finds >= 0)


def _note(finds: npt.NDArray[np.int32], mask: Mask, number: int) -> None:
    """Record which term found each item first, or that several did."""
    finds[mask] = np.where(finds[mask] == _NONE, number, _SEVERAL)


def csv_rows(report: HitReport) -> Iterator[dict[str, object]]:
    """Yield the report as records with the fields of CSV_FIELDS: each term, then its custodians; at the end all terms
    together."""
    terms: list[tuple[dict[str, object], Hits, Sequence[Hits]]] = [
        ({"line": t.line, "term": t.term, "same_as_line": t.same_as_line}, t, t.custodians) for t in report.terms
    ]
    terms.append(({"term": "any term"}, report.total, report.custodians))
    for term, hits, custodians in terms:
        for each in (hits, *custodians):
            yield term | {name: getattr(each, name, None) for name in CSV_FIELDS if name not in term}
