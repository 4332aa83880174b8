"""The tables of `make bench-formats`: one row a format, ours beside Tika's, and the files in which we found less."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.formats.score import Extract, Score, Shortfall, scores


@dataclass(slots=True)
class Side:
    """One extractor's sums over the files of one format."""

    files: int = 0
    items: int = 0  # files and everything inside them
    size: int = 0  # bytes of the files that were timed
    characters: int = 0
    children: int = 0
    seconds: float = 0.0

    def add(self, extract: Extract, size: int, seconds: float | None) -> None:
        """One file; without a time it does not count for the speed."""
        self.characters += extract.characters
        self.children += extract.children
        if seconds is not None:
            self.files += 1
            self.items += 1 + extract.children
            self.size += size
            self.seconds += seconds

    @property
    def us_per_item(self) -> float | None:
        """None where nothing was timed, or too short for a clock of milliseconds."""
        return self.seconds / self.items * 1e6 if self.seconds else None

    @property
    def mb_per_second(self) -> float | None:
        """MB of files (10⁶ bytes) a second of one core."""
        return self.size / 1e6 / self.seconds if self.seconds else None


def by_format(
    sizes: Mapping[str, int], types: Mapping[str, str], extracts: Mapping[str, Extract], seconds: Mapping[str, float]
) -> dict[str, Side]:
    """Sums by media type; `types` says the type of every file, `sizes` its bytes."""
    out: dict[str, Side] = defaultdict(Side)
    for name, extract in extracts.items():
        if name in types:
            out[types[name]].add(extract, sizes.get(name, 0), seconds.get(name))
    return out


def show_formats(
    title: str,
    sizes: Mapping[str, int],
    ours: Mapping[str, Extract],
    our_seconds: Mapping[str, float],
    peers: Mapping[str, Extract],
    peer_seconds: Mapping[str, float],
) -> None:
    """Print the table; without peers, our columns only."""
    types = {name: extract.media_type for name, extract in ours.items()}
    mine = by_format(sizes, types, ours, our_seconds)
    theirs = by_format(sizes, types, peers, peer_seconds)
    by_type = scores(dict(ours), dict(peers))
    columns = ["format", "files", "µs/item", "MB/s", "characters", "children"]
    table = Table(*columns, title=title, box=None, header_style="bold", pad_edge=False, title_justify="left")
    if peers:
        for heading in ("Tika µs/item", "MB/s", "characters", "children", "faster", "terms", "found"):
            table.add_column(heading)
    for column in table.columns[1:]:
        column.justify = "right"
    for media_type in sorted(mine):
        row = [media_type, f"{mine[media_type].files:,}", *_columns(mine[media_type])]
        if peers:
            row += _beside(mine[media_type], theirs.get(media_type, Side()), by_type.get(media_type, Score()))
        table.add_row(*row)
    console = Console(highlight=False, width=None if Console().is_terminal else 220)
    console.print(table)


def _columns(side: Side) -> list[str]:
    return [_number(side.us_per_item), _number(side.mb_per_second), f"{side.characters:,}", f"{side.children:,}"]


def _beside(mine: Side, theirs: Side, score: Score) -> list[str]:
    times = f"{theirs.seconds / mine.seconds:,.1f}x" if mine.seconds and theirs.seconds else ""
    recall = f"{score.recall:.2%}" if score.terms else ""
    return [*_columns(theirs), times, f"{score.terms:,}", recall]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def show_shortfalls(shortfalls: Iterable[Shortfall]) -> None:
    """Each file in which we found less, with a sample of what is missing."""
    lines = [shortfall.line() for shortfall in shortfalls]
    print(f"less than Tika in {len(lines)} files{':' if lines else ''}")
    for line in lines:
        print(f"  {line}")
    print(flush=True)
