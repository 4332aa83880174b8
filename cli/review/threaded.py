"""What `edbench threads` does and shows; imported while the services start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import write_json
from cli.review.options import Detail
from cli.review.printed import print_rows, print_summary
from review.threads.report import FIELDS, stream_threads
from review.threads.run import thread


def show_threads(
    context: CommandContext,
    installed: Installation,
    jobs: Sequence[str],
    subjects: bool,
    json_file: Path | None,
    how: Detail,
) -> None:
    """Thread, and print what came of it."""
    found = [installed.find_discovered(job) for job in jobs]
    outcome = thread(found, subjects=subjects)
    if json_file is not None:
        write_json(json_file, outcome.to_json())
    lines = [
        ("messages", outcome.messages),
        ("threads", outcome.threads),
        ("messages in the largest", outcome.largest),
        ("messages above the deepest", outcome.deepest),
        *((f"placed by {by.replace('_', '-')}", count) for by, count in outcome.by.items()),
        ("without a Message-ID", outcome.without_id),
        ("without a date", outcome.without_date),
    ]
    print_summary(context, lines, how)
    if how.wanted:
        print_rows(stream_threads([handle for one in found for handle in one.each]), FIELDS, how)
