"""What `edbench near` does and shows; imported while the services start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import bytes_text, write_json
from cli.review.options import Detail
from cli.review.printed import print_rows, print_summary
from review.kinds import Scope
from review.near.report import FIELDS, stream_near
from review.near.run import near
from review.near.shingles import LEAST


def show_near(
    context: CommandContext,
    installed: Installation,
    jobs: Sequence[str],
    scope: Scope,
    threshold: float,
    json_file: Path | None,
    how: Detail,
) -> None:
    """Look for near-duplicates, and print what came of it."""
    found = [installed.find_discovered(job) for job in jobs]
    outcome = near(found, scope, threshold, installed.settings)
    if json_file is not None:
        write_json(json_file, outcome.to_json())
    lines = [
        ("items", outcome.items),
        ("their texts compared", outcome.compared),
        (f"shorter than {LEAST} words", outcome.short),
        ("without a text", outcome.without_text),
        ("pairs held against each other", outcome.pairs),
        ("groups", outcome.groups),
        ("near-duplicates", outcome.near),
        ("of these with the same words", outcome.same_text),
        ("their bytes", bytes_text(outcome.near_bytes)),
    ]
    print_summary(context, lines, how)
    if how.wanted:
        print_rows(stream_near([handle for one in found for handle in one.each]), FIELDS, how)
