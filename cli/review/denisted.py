"""What `edbench denist` does and shows; imported while the services start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import bytes_text, write_json
from cli.review.options import Detail
from cli.review.printed import print_rows, print_summary
from cli.show.table import table
from review.denist.report import FIELDS, stream_system_files
from review.denist.run import denist as run_denist


def show_denist(
    context: CommandContext,
    installed: Installation,
    jobs: Sequence[str],
    lists: Sequence[Path],
    json_file: Path | None,
    how: Detail,
) -> None:
    """Flag, and print what came of it."""
    found = [installed.find_discovered(job) for job in jobs]
    outcome = run_denist(found, lists, installed.settings)
    if json_file is not None:
        write_json(json_file, outcome.to_json())
    rows = [(one.name, one.kind, one.hashes, one.bad, one.items, bytes_text(one.bytes)) for one in outcome.lists]
    console = context.err if how.wanted else context.out
    columns = ("list", "hashes are", "hashes", "bad lines", "items flagged", "bytes")
    console.print(table(columns, rows, right=(2, 3, 4, 5)))
    for one in outcome.lists:
        if one.bad:
            context.say(f"{one.name}: {one.bad:,} lines are no {one.kind}, the first is line {one.first_bad:,}")
    summary = [
        ("items", outcome.items),
        ("system files", outcome.system),
        ("their bytes", bytes_text(outcome.system_bytes)),
        ("items of unknown hash", outcome.unknown),
    ]
    print_summary(context, summary, how)
    if how.wanted:
        handles = [handle for one in found for handle in one.each]
        print_rows(stream_system_files(handles, [one.name for one in outcome.lists]), FIELDS, how)
