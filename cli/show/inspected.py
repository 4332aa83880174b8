"""What `edbench inspect` found, for people."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console

from cli.show.table import table
from worker.inspect.summary import FormatCount, Summary


def show(summary: Summary, lines: list[Any] | None) -> None:
    """The first lines, as a table, and the summary; the summary alone, on standard error, where there are none to be shown."""
    console = Console(stderr=lines is None, highlight=False, emoji=False)
    if lines is not None:
        _show_items(console, lines, summary.items)
    _show(console, summary)


def _show_items(console: Console, lines: list[Any], items: int) -> None:
    rows = []
    for line in lines:
        text = f"{len(line['text']):,} characters" if line["text"] else _spaced(line["text_state"])
        path = " / ".join(line["container_path"])
        rows.append((path, line["kind"], line["media_type"], line["bytes"], text, ", ".join(line["exceptions"])))
    console.print(table(("container path", "kind", "media type", "bytes", "text", "exceptions"), rows, right=(3,)))
    if items > len(lines):
        console.print(f"only the first {len(lines)} of {items:,} items are shown; --jsonl gives all of them")
    console.print()


def _show(console: Console, summary: Summary) -> None:
    rows = [(title, *_counts(of)) for title, of in (*summary.by_items(), ("all", summary.total()))]
    console.print(table(("format", "items", "bytes", "text", "exceptions"), rows, right=(1, 2)))
    unknown = f"; {summary.remainders:,} cut short, so that some are not known" if summary.remainders else ""
    console.print(
        f"{summary.loose_files:,} loose files, {summary.items:,} items, {summary.with_exceptions:,} of them with "
        f"exceptions; children: {summary.expected:,} expected = {summary.emitted:,} emitted + {summary.failed:,} failed"
        f"{unknown}",
        soft_wrap=True,
    )


def _counts(of: FormatCount) -> tuple[int, int, str, str]:
    """Items, bytes, text states and exceptions of one format."""
    return of.items, of.bytes, _counted(of.states), _counted(of.exceptions)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{_spaced(name)} {count:,}" for name, count in counts.most_common())


def _spaced(name: str) -> str:
    return name.replace("_", " ")
