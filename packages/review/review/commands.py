"""`edbench review dedupe|near-dup|languages|denist|threads`: findings about the items of completed jobs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.installation import Installation, installation
from cli.output import bytes_text, table
from cli.tree import Commands
from review.kinds import LOWEST, USUAL, By, Scope

if TYPE_CHECKING:
    from controller.databases import Jobs
    from review.report import Report, Summary

commands = Commands()

_Scope = Annotated[
    Scope, typer.Option("--scope", help="Compare items within each job, within each custodian, or across all jobs.")
]


@commands.add("dedupe", "edbench review dedupe last --by family --scope job")
def dedupe(
    ctx: typer.Context,
    jobs: opt.JobArguments,
    scope: _Scope = Scope.JOB,
    by: Annotated[By, typer.Option("--by", help="Compare families, or single items.")] = By.FAMILY,
) -> None:
    """Find duplicates and the original of each group.

    The command replaces the findings of an earlier one; no item is deleted. The original is the first by job (in the
    order given), custodian and path; it lists the custodians of all its duplicates. `edbench review items JOB
    --duplicates no` omits the duplicates. table and json have the summary, jsonl and csv one row per item of a group.
    docs/review.md has the rules."""
    context = shared(ctx)
    with installation(context.settings(), work=("review.dedupe.run",), looks=False) as installed:
        from review.dedupe.run import DUPLICATES
        from review.dedupe.run import dedupe as run

        found = _discoveries(installed, jobs)
        done = run(found, scope, by)
        what = "families" if done.by is By.FAMILY else "items"
        summary: list[tuple[str, object]] = [
            ("items", done.items),
            (f"{what} compared", done.compared),
            ("groups of duplicates", done.groups),
            (f"{what} that are duplicates", done.copies),
            ("items flagged as duplicates", done.duplicates),
            ("their bytes", bytes_text(done.duplicate_bytes)),
            ("groups with several Message-ID hashes", done.several_ids),
            ("Message-ID hashes of unequal messages", done.several_hashes),
        ]
        _print(context, DUPLICATES, done, summary, found)


@commands.add("near-dup", "edbench review near-dup last --threshold 0.8")
def near_dup(
    ctx: typer.Context,
    jobs: opt.JobArguments,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold", min=LOWEST, max=1.0, metavar="SHARE", help="Require this share of common text, 0.5 to 1."
        ),
    ] = USUAL,
    scope: _Scope = Scope.JOB,
) -> None:
    """Find near-duplicates by their text and the principal of each.

    The command compares the indexed texts by their shingles (five consecutive words): those in both texts over those in
    either. The principal is the first by job, custodian and path; every other member is compared with it. The command
    replaces the findings of an earlier one. `edbench review items JOB --near no` omits all but the principals. table
    and json have the summary, jsonl and csv one row per item of a group."""
    context = shared(ctx)
    with installation(context.settings(), work=("review.near.run",)) as installed:
        from review.near.run import NEAR_DUPLICATES
        from review.near.run import near as run
        from review.near.shingles import LEAST

        found = _discoveries(installed, jobs)
        done = run(found, scope, threshold, installed.settings)
        summary: list[tuple[str, object]] = [
            ("items", done.items),
            ("texts compared", done.compared),
            (f"shorter than {LEAST} words", done.short),
            ("without text", done.without_text),
            ("comparisons", done.pairs),
            ("groups", done.groups),
            ("near-duplicates", done.near),
            ("of these with the same words", done.same_text),
            ("their bytes", bytes_text(done.near_bytes)),
        ]
        _print(context, NEAR_DUPLICATES, done, summary, found)


@commands.add("languages", "edbench review languages last")
def languages(ctx: typer.Context, jobs: opt.JobArguments) -> None:
    """Detect the language of each text.

    It is stored as `language` in the item's metadata, in ISO 639 codes: select it with `edbench review items JOB
    --language de` or `edbench review search JOB 'budget AND language:de'`. `und` marks texts that are too short or of
    uncertain language, `zxx` texts in no language. docs/review.md describes the method."""
    context = shared(ctx)
    with installation(context.settings(), work=("review.languages.run",)) as installed:
        from review.languages.run import languages as run

        done = run(_discoveries(installed, jobs), installed.settings)
        if not context.document(done):
            context.out.print(table(("language", "texts"), list(done.by.items()), right=(1,)))


@commands.add("denist", "edbench review denist last --list NSRLFile.txt --list own.sha256")
def denist(
    ctx: typer.Context,
    jobs: opt.JobArguments,
    lists: Annotated[
        list[Path],
        typer.Option("--list", metavar="FILE", help="Use this hash list, text or NSRL SQLite; repeatable."),
    ],
) -> None:
    """Flag known software files by their hash (DeNIST).

    The command replaces the flags of an earlier one; no item is dropped. `edbench review items JOB --system no` omits
    the flagged items. A list has SHA-256, SHA-1 or MD5 hashes; for one without SHA-256 the items are read again. table
    and json have the summary, jsonl and csv one row per flagged item. docs/review.md lists the file formats."""
    context = shared(ctx)
    with installation(context.settings(), work=("review.denist.run",)) as installed:
        from review.denist.run import SYSTEM_FILES
        from review.denist.run import denist as run

        found = _discoveries(installed, jobs)
        done = run(found, lists)
        rows = [(one.name, one.kind, one.hashes, one.bad, one.items, bytes_text(one.bytes)) for one in done.lists]
        columns = ("list", "hash", "hashes", "bad lines", "items flagged", "bytes")
        context.people.print(table(columns, rows, right=(2, 3, 4, 5)))
        for one in done.lists:
            if one.bad:
                context.say(f"{one.name}: {one.bad:,} lines are not {one.kind}, the first is line {one.first_bad:,}")
        summary: list[tuple[str, object]] = [
            ("items", done.items),
            ("system files", done.system),
            ("their bytes", bytes_text(done.system_bytes)),
            ("items of unknown hash", done.unknown),
        ]
        _print(context, SYSTEM_FILES, done, summary, found)


@commands.add("threads", "edbench review threads last -o csv --output-file threads.csv")
def threads(
    ctx: typer.Context,
    jobs: opt.JobArguments,
    subjects: Annotated[
        bool,
        typer.Option("--subjects", help="Place replies without references below the first message of their subject."),
    ] = False,
) -> None:
    """Group messages into threads: which message replies to which.

    By Message-ID, References, In-Reply-To and Outlook's conversation index, over the messages of all jobs named. The
    command replaces the findings of an earlier one. table and json have the summary, jsonl and csv one row per message.
    docs/review.md describes the method."""
    context = shared(ctx)
    with installation(context.settings(), work=("review.threads.run",), looks=False) as installed:
        from review.threads.run import THREADS, thread

        found = _discoveries(installed, jobs)
        done = thread(found, subjects=subjects)
        summary: list[tuple[str, object]] = [
            ("messages", done.messages),
            ("threads", done.threads),
            ("messages in the largest", done.largest),
            ("messages above the deepest", done.deepest),
            *((f"placed by {by.replace('_', '-')}", count) for by, count in done.by.items()),
            ("without a Message-ID", done.without_id),
            ("without a date", done.without_date),
        ]
        _print(context, THREADS, done, summary, found)


def _discoveries(installed: Installation, jobs: Sequence[str]) -> list[Jobs]:
    return [installed.find_discovered(job) for job in jobs]


def _print(
    context: CommandContext,
    report: Report[Summary],
    document: Summary,
    summary: Sequence[tuple[str, object]],
    found: Sequence[Jobs],
) -> None:
    """Print the summary as a table or document, or every row as JSON lines or CSV with the summary on standard
    error."""
    context.people.print(table(("", "number"), summary, right=(1,)))
    with closing(report.stream([handle for one in found for handle in one.each], document)) as rows:
        context.document(document, rows, report.fields)
