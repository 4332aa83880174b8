"""`edbench languages`."""

from __future__ import annotations

import typer

from cli.context import shared, writable_file
from cli.installation import installation
from cli.options import JsonFile
from cli.review.options import JobArguments


def languages(ctx: typer.Context, jobs: JobArguments, json_file: JsonFile = None) -> None:
    """Tell the language of each text of finished jobs.

    It is kept as `language` in the item's metadata, in ISO 639's codes: `edbench items JOB --where language=de` and
    `edbench search JOB 'budget AND language:de'` ask for it. `und` stands for texts too short or of no language for certain,
    `zxx` for those that are no language. docs/review.md says how.
    """
    context = shared(ctx)
    writable_file(json_file, "--json")
    with installation(context.settings(), work="cli.review.told") as installed:
        from cli.review.told import show_languages

        show_languages(context, installed, jobs, json_file)
