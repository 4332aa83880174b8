"""What `edbench languages` does and shows; imported while the services start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import write_json
from cli.show.table import table
from review.languages.run import languages


def show_languages(
    context: CommandContext, installed: Installation, jobs: Sequence[str], json_file: Path | None
) -> None:
    """Tell the languages, and print how many texts are in each."""
    outcome = languages([installed.find_discovered(job) for job in jobs], installed.settings)
    if json_file is not None:
        write_json(json_file, outcome.to_json())
    context.out.print(table(("language", "texts"), list(outcome.by.items()), right=(1,)))
