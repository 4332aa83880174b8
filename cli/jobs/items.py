"""`edbench items`."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import JobArgument
from core.errors import ExceptionCode, UsageError
from core.kinds import ANY_EXCEPTION, Kind, TextState

if TYPE_CHECKING:
    from controller.browse.item_filter import Condition


class YesNo(enum.StrEnum):
    """Of a flag that items may have."""

    YES = "yes"
    NO = "no"


def items(
    ctx: typer.Context,
    job: JobArgument,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="one JSON object a line, every item")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header, every item")] = False,
    csv_raw: Annotated[bool, typer.Option("--csv-raw", help="the same, formulas and all")] = False,
    where: Annotated[str, typer.Option(metavar="CONDITIONS", help="only items whose metadata is like that")] = "",
    custodian: Annotated[str | None, typer.Option(metavar="NAME", help="only this custodian's")] = None,
    media_type: Annotated[str | None, typer.Option("--type", help="only of this media type")] = None,
    kind: Annotated[Kind | None, typer.Option(help="only of this kind")] = None,
    text: Annotated[TextState | None, typer.Option(help="only with this text state")] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="only in this language, as `languages` told it")
    ] = None,
    duplicates: Annotated[YesNo | None, typer.Option(help="only what `dedupe` found to be duplicates, or not")] = None,
    near: Annotated[YesNo | None, typer.Option(help="only what `near` found to be near-duplicates, or not")] = None,
    system: Annotated[YesNo | None, typer.Option(help="only what `denist` found to be system files, or not")] = None,
    exception: Annotated[str | None, typer.Option(metavar="CODE", help="only with this exception, or `any`")] = None,
) -> None:
    """Print a job's items: what each is, where it was found, its hash, its text, its exceptions.

    Without --jsonl or --csv a table of the first items is shown. Of a group each job's items come, one job after the
    other, each with its database. In CSV what a spreadsheet would run as a formula has an apostrophe in front.

    CONDITIONS are KEY OPERATOR VALUE joined by `and`, with the operators = != < <= > >= and ~ (contains):
    'date>=2001-06 and author~smith and page_count>10'. A date is compared as far as it is given; an item without the
    key is left out. docs/formats.md lists the keys.
    """
    if as_jsonl + as_csv + csv_raw > 1:
        raise UsageError("--jsonl, --csv and --csv-raw exclude each other; give one")
    if exception not in (None, ANY_EXCEPTION, *ExceptionCode):
        raise UsageError(f"--exception can be {ANY_EXCEPTION}, {', '.join(ExceptionCode)}")
    conditions = _conditions(where, language)
    context = shared(ctx)
    with installation(context.settings(), broker=False, work="cli.jobs.printed", looks=False) as installed:
        from cli.jobs.printed import print_items
        from controller.browse.item_filter import ItemFilter

        wanted = ItemFilter(
            custodian=custodian,
            type=media_type,
            exception=exception,
            kind=kind,
            text_state=text,
            conditions=conditions,
            duplicate=None if duplicates is None else duplicates is YesNo.YES,
            near=None if near is None else near is YesNo.YES,
            system=None if system is None else system is YesNo.YES,
        )
        handles = installed.find_discovered(job).each
        if custodian is not None or media_type is not None or conditions:
            from controller.search.unknown import refuse_unknown_filter

            refuse_unknown_filter(handles, wanted)
        asked = {"duplicates": duplicates is not None, "near": near is not None, "system": system is not None}
        if any(asked.values()):
            from review.looked_at import check_findings  # what finds brings what tells of it

            check_findings(handles, installed.databases, **asked)
        print_items(context, handles, wanted, as_jsonl=as_jsonl, as_csv=as_csv or csv_raw, raw=csv_raw)


def _conditions(where: str, language: str | None) -> tuple[Condition, ...]:
    """Before services are started, for they may be wrong; where there are none nothing is loaded for them."""
    if not where and language is None:
        return ()
    from controller.browse.item_filter import in_language, parse_conditions

    return (*parse_conditions(where), *in_language(language))
