"""What `edbench dedupe` does and shows; imported while the services start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import bytes_text, write_json
from cli.review.options import Detail
from cli.review.printed import print_rows, print_summary
from review.dedupe.report import FIELDS, stream_duplicates
from review.dedupe.run import Duplicates
from review.dedupe.run import dedupe as run_dedupe
from review.kinds import By, Scope


def show_dedupe(
    context: CommandContext,
    installed: Installation,
    jobs: Sequence[str],
    scope: Scope,
    by: By,
    json_file: Path | None,
    how: Detail,
) -> None:
    """De-duplicate, and print what came of it."""
    found = [installed.find_discovered(job) for job in jobs]
    outcome = run_dedupe(found, scope, by)
    if json_file is not None:
        write_json(json_file, outcome.to_json())
    print_summary(context, _lines(outcome), how)
    if how.wanted:
        print_rows(stream_duplicates([handle for one in found for handle in one.each], by), FIELDS, how)


def _lines(found: Duplicates) -> list[tuple[str, object]]:
    what = "families" if found.by is By.FAMILY else "items"
    return [
        ("items", found.items),
        (f"{what} compared", found.compared),
        ("groups of equals", found.groups),
        (f"{what} that are duplicates", found.copies),
        ("items flagged as duplicates", found.duplicates),
        ("their bytes", bytes_text(found.duplicate_bytes)),
        ("groups with several Message-ID hashes", found.several_ids),
        ("Message-ID hashes of unequal messages", found.several_hashes),
    ]
