"""`edbench review`: search, list, show and tag the items of jobs. Package `review` adds more."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.installation import Installation, installation
from cli.output import bytes_text, harmless, table
from cli.tree import Commands
from core import texts
from core.errors import UsageError
from core.texts import many
from readers.errors import ExceptionCode
from readers.records import Kind, TextState

if TYPE_CHECKING:
    from rich.text import Text

    from controller.databases import JobHandle
    from controller.search.found import FoundItem
    from controller.search.report import CustodianHits, HitReport, Hits
    from sql.browse import WholeItem
    from sql.review import Equal, Message, Near

commands = Commands()
ANY_EXCEPTION = "any"  # in place of an exception's code

ROWS_SHOWN = 50
ITEM = "id of an item, or an unambiguous prefix of it, as `edbench review search` prints it"
Custodian = Annotated[
    str | None, typer.Option("--custodian", metavar="NAME", help="Select only the items of this custodian.")
]
Families = Annotated[bool, typer.Option("--families", help="Add the families of the matching items.")]


@commands.add("search", "edbench review search last 'subject:budget AND \"third quarter\"'")
def search(
    ctx: typer.Context,
    job: opt.JobArgument,
    query: Annotated[
        str,
        typer.Argument(
            metavar="[QUERY]", help='words, "a phrase", wor*, wor~1, a w/5 b, AND OR NOT, field:word, date:>=2001'
        ),
    ] = "",
    limit: opt.Limit = 20,
    custodian: Custodian = None,
    families: Families = False,
    save: Annotated[str | None, typer.Option(metavar="NAME", help="Save the query; saved:NAME runs it again.")] = None,
    forget: Annotated[str | None, typer.Option(metavar="NAME", help="Delete a saved search.")] = None,
) -> None:
    """Search the text and fields of items, best match first.

    Without QUERY, list the saved searches. docs/search.md describes the query language. Fields of the index: body
    custodian type kind name path subject sender recipients title author; of the database: size text_state exception
    custodian_is type_is tag saved and the metadata of docs/formats.md, such as date and page_count."""
    if not query.strip() and (save or families or custodian):
        raise UsageError("QUERY is missing: give it in quotes after JOB")
    if query.strip() and forget:
        raise UsageError("--forget deletes a saved search: remove QUERY")
    context = shared(ctx)
    # The engine of nearly every job is imported while the services start, too.
    work = ("controller.search.found", "controller.search.opened", "search.tantivy_engine", "rich.table")
    with installation(context.settings(), broker=False, work=work) as installed:
        if not query.strip():
            _show_saved(context, installed, job, forget)
            return
        from controller.search.found import search_all
        from controller.search.opened import opened_index
        from search.language import parse
        from search.query import asks_ledger

        handles = installed.find_discovered(job).each
        opened = partial(opened_index, settings=installed.settings)
        if custodian is None and not families and not asks_ledger(parse(query)):
            hits, number = search_all(handles, opened, query, limit)
        else:
            from controller.search.answers import Wanted, count_all  # numbers in rows: a tenth of a second

            wanted = Wanted(query=query, limit=limit, custodian=custodian, families=families)
            hits, number = count_all(handles, opened, wanted)
        if save is not None:  # once it is parsed
            from controller.search.named import save_search  # imports documents

            save_search(handles, save, query)
        if not context.document(hits):
            _show_hits(context, hits)
        first = f"{len(hits):,} of " if number > len(hits) else ""
        context.say(f"{first}{many(max(number, len(hits)), 'item')}" if hits else "no item matches")


def _show_saved(context: CommandContext, installed: Installation, job: str, forget: str | None) -> None:
    """Print the saved searches, after deleting one if requested."""
    from controller.search.named import forget_search, searches_of

    handles = installed.find_discovered(job).each
    if forget is not None:
        forget_search(handles, forget)
    searches = searches_of(handles)
    if context.document(searches):
        return
    rows = [(each.name, each.query, each.saved_by, f"{each.saved_at:%Y-%m-%d %H:%M:%S %z}") for each in searches]
    listed = table(("name", "query", "saved by", "at"), rows, whole=(0,)) if rows else "no saved search; give a QUERY"
    context.out.print(listed)


def _show_hits(context: CommandContext, found_items: list[FoundItem]) -> None:
    from rich.text import Text

    of_several = any(hit.database for hit in found_items)
    of_families = any(hit.hit is not None for hit in found_items)
    origin = (*(("database",) if of_several else ()), *(("hit",) if of_families else ()))
    out = table((*origin, "item", "family", "custodian", "container path", "type", "snippet"), [])
    for hit in found_items:
        out.add_row(
            *((Text(hit.database or ""),) if of_several else ()),
            *((Text("yes" if hit.hit else ""),) if of_families else ()),
            Text(str(hit.item)[:8]),
            Text(str(hit.family)[:8] if hit.family else ""),
            Text(hit.custodian),
            Text(" / ".join(hit.container_path)),
            Text(hit.media_type),
            highlighted(hit.snippet),
        )
    context.out.print(out)


def highlighted(snippet: str) -> Text:
    """The snippet on one line with its matches in bold."""
    from rich.text import Text

    from controller.search.found import HIGHLIGHT_START, HIGHLIGHT_STOP

    text = Text()
    for number, piece in enumerate(" ".join(snippet.split()).split(HIGHLIGHT_START)):
        marked, stop, rest = piece.partition(HIGHLIGHT_STOP)
        if number and stop:
            text.append(marked, style="bold")
            text.append(rest)
        else:
            text.append(piece)
    return text


class YesNo(enum.StrEnum):
    """Value of a flag that items have or not."""

    YES = "yes"
    NO = "no"


@commands.add("items", "edbench review items last -o jsonl --output-file items.jsonl")
def items(
    ctx: typer.Context,
    job: opt.JobArgument,
    custodian: Custodian = None,
    media_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Select only items of this media type.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Select only items of this kind.")] = None,
    text: Annotated[TextState | None, typer.Option(help="Select only items in this text state.")] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Select only items in this language (`edbench review languages`)."),
    ] = None,
    duplicates: Annotated[
        YesNo | None, typer.Option(help="Select only duplicates, or none (`edbench review dedupe`).")
    ] = None,
    near: Annotated[
        YesNo | None, typer.Option(help="Select only near-duplicates, or none (`edbench review near-dup`).")
    ] = None,
    system: Annotated[
        YesNo | None, typer.Option(help="Select only system files, or none (`edbench review denist`).")
    ] = None,
    exception: Annotated[
        str | None, typer.Option(metavar="CODE", help="Select only items with this exception, or `any`.")
    ] = None,
) -> None:
    """List items with their path, hash, text state and exceptions.

    The table shows the first 50, the other formats all of them. For a group, the items of one job follow those of
    another, each with its database. `edbench review search` finds items by their metadata."""
    if exception not in (None, ANY_EXCEPTION, *ExceptionCode):
        raise UsageError(f"--exception is {exception!r}; it must be {ANY_EXCEPTION}, {', '.join(ExceptionCode)}")
    context = shared(ctx)
    work = ("controller.browse.items", "controller.browse.item_filter", "rich.table")
    with installation(context.settings(), broker=False, work=work, looks=False) as installed:
        from controller.browse.item_filter import ItemFilter, in_language

        wanted = ItemFilter(
            custodian=custodian,
            type=media_type,
            exception=exception,
            kind=kind,
            text_state=text,
            conditions=in_language(language),
            duplicate=None if duplicates is None else duplicates is YesNo.YES,
            near=None if near is None else near is YesNo.YES,
            system=None if system is None else system is YesNo.YES,
        )
        handles = installed.find_discovered(job).each
        if custodian is not None or media_type is not None or language is not None:
            from controller.search.meaning import refuse_unknown_filter

            refuse_unknown_filter(handles, wanted)
        asked = {"duplicates": duplicates is not None, "near": near is not None, "system": system is not None}
        if any(asked.values()):
            from controller.findings import check_findings

            check_findings(handles, installed.databases, **asked)
        from controller.browse.items import fields_of, stream_all

        # Closed here and not by the collector: the reader may close the pipe, and then the services end.
        with closing(stream_all(handles, wanted)) as rows:
            if not context.document(rows, fields=fields_of(handles)):
                _show_items(context, rows, of_several=len(handles) > 1)


def _show_items(context: CommandContext, rows: Iterator[dict[str, Any]], *, of_several: bool) -> None:
    shown = list(itertools.islice(rows, ROWS_SHOWN + 1))
    cells = [
        (
            *((item["database"],) if of_several else ()),
            " / ".join(item["container_path"]),
            item["custodian"],
            item["kind"],
            item["media_type"],
            bytes_text(item["bytes"]),
            item["text_state"] or "",
            " ".join(item["exceptions"]),
        )
        for item in shown[:ROWS_SHOWN]
    ]
    origin = ("database",) if of_several else ()
    columns = (*origin, "container path", "custodian", "kind", "media type", "bytes", "text", "exceptions")
    context.out.print(table(columns, cells, right=(4 + len(origin),)))
    if len(shown) > ROWS_SHOWN:
        context.say(f"only the first {ROWS_SHOWN} are shown; -o jsonl prints all of them")


@commands.add("item", "edbench review item last 3f2a91bc --text-only")
def item(
    ctx: typer.Context,
    job: opt.JobArgument,
    item: Annotated[str, typer.Argument(metavar="ITEM", help=ITEM)],
    text: Annotated[bool, typer.Option("--text-only", help="Print only the indexed text of the item.")] = False,
) -> None:
    """Show an item with its family, duplicates and thread; or its text.

    Duplicates, near-duplicates and thread are from the latest `edbench review dedupe`, `near-dup` and `threads` of the
    job."""
    context = shared(ctx)
    if text and context.output != "table":
        raise UsageError(f"--text-only prints plain text: remove it, or -o {context.output}")
    work = ("controller.browse.pages", "controller.findings", "rich.table")
    with installation(context.settings(), broker=False, work=work) as installed:
        if text:
            _print_text(installed, job, item)
        else:
            _show_item(context, installed, job, item)


def _print_text(installed: Installation, job: str, reference: str) -> None:
    """Print the whole text; on a terminal without control characters."""
    from controller.browse.pages import item_text

    handle, row = _item_called(installed, job, reference)
    text = item_text(handle, installed.settings, row)
    if text is None:
        raise UsageError(f"item {row.id} ({row.kind}, {row.media_type}) has no indexed text")
    if sys.stdout.isatty():
        text = harmless(text)
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _show_item(context: CommandContext, installed: Installation, job: str, reference: str) -> None:
    """Print all other data of the item, as the web UI shows it."""
    from controller.browse.pages import FAMILY_SHOWN

    of = _described(installed, *_item_called(installed, job, reference))
    if context.document(of):
        return
    out = context.out
    out.print(table(("item", of["item"]["id"]), _rows(of["item"]), whole=(0,)))
    out.print(table(("", "family", "item", "type", "bytes"), _family(of["family"]), right=(4,)))
    if of["family"]["truncated"]:
        context.say(f"only the first {FAMILY_SHOWN:,} items of its family are shown")
    columns = {"duplicates": "copy_of", "near_duplicates": "similarity", "thread": "sent_at"}
    for name, first in columns.items():
        if rows := of[name]:
            shown = (
                (_plain(one[first]), str(one["item"])[:8], one["custodian"], "  " * one.get("depth", 0) + _line(one))
                for one in rows
            )
            out.print(table((name.replace("_", "-"), "item", "custodian", "container path"), shown))
    for name, why in of["unknown"].items():
        context.say(f"{name.replace('_', '-')}: {why}")


def _item_called(installed: Installation, job: str, reference: str) -> tuple[JobHandle, WholeItem]:
    from controller.browse.pages import find_item, item_called

    handles = installed.find_discovered(job).each
    return find_item(handles, item_called(handles, reference))


def _described(installed: Installation, handle: JobHandle, row: WholeItem) -> dict[str, Any]:
    """Plain data. A finding that no command has computed is None; `unknown` names the command."""
    from controller.browse.pages import family_tree, item_details
    from controller.findings import equals_of, near_of, thread_of

    findings: Mapping[str, Callable[..., Sequence[Equal | Near | Message]]] = {
        "duplicates": equals_of,
        "near_duplicates": near_of,
        "thread": thread_of,
    }
    details = item_details(handle, row)
    of: dict[str, Any] = {"item": details, "family": family_tree(handle, row)}
    unknown: dict[str, str] = {}
    for name, find in findings.items():
        of[name] = None
        try:
            of[name] = list(map(dataclasses.asdict, find(handle, row.id, installed.databases)))
        except UsageError as error:
            unknown[name] = str(error)
    return of | {"unknown": unknown}


def _rows(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return a row for each field, one for each exception and tag, then the metadata."""
    elsewhere = ("id", "container_path", "exceptions", "failures", "tags", "metadata")
    yield "path", _line(item)
    for name, value in item.items():
        if name not in elsewhere and value is not None:
            yield name.replace("_", " "), _plain(value)
    for each in item["failures"]:
        yield "exception", _plain(f"{each['code']} ({each['level']}, {each['phase']}): {each['detail']}")
    for each in item["tags"]:
        yield "tag", f"{each['tag']}, by {each['tagged_by']} at {each['tagged_at']}"
    for name, value in item["metadata"].items():
        yield f"metadata {name}", _plain(value)


def _family(family: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, int]]:
    """Return the item's containers, then its family; an arrow marks the item itself."""
    for one in (*family["ancestors"], *family["members"]):
        here, name = "→" if one["id"] == family["item"] else "", _plain(one["name"])
        yield here, "  " * one["depth"] + name, one["id"][:8], one["media_type"], one["bytes"]


def _line(one: Mapping[str, Any]) -> str:
    return _plain(" / ".join(one["container_path"]))


def _plain(value: object) -> str:
    """A value of evidence on one line, without control characters."""
    from core.names import display_name

    text = "; ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    return display_name(text.encode("utf-8", "surrogatepass"))


@commands.add("terms", "edbench review terms last terms.txt -o csv --output-file hits.csv")
def terms(
    ctx: typer.Context,
    job: opt.JobArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="search terms, one query per line")],
    charset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Read FILE in this charset.  [default: detected]")
    ] = None,
    custodian: Custodian = None,
    custodians: Annotated[
        bool, typer.Option("--custodians", help="Split the table by custodian, as the other formats always are.")
    ] = False,
) -> None:
    """Report the hits of each search term of a list.

    Hits are items, items with their families, families, and hits of this term alone."""
    from controller.search.report import read_terms

    listed, used = read_terms(file, charset)
    context = shared(ctx)
    with installation(context.settings(), work=("controller.search.report", "controller.search.opened")) as installed:
        from controller.search.opened import opened_index
        from controller.search.report import CSV_FIELDS, csv_rows, hit_report

        opened = partial(opened_index, settings=installed.settings)
        report = hit_report(installed.find_discovered(job).each, opened, listed, custodian=custodian)
        if not context.document(report, csv_rows(report), CSV_FIELDS):
            show_hits(context, report, custodians=custodians)
    if charset is None and not used.startswith("utf-8"):
        context.say(f"{file} was read as {used}; choose another charset with --charset")


def show_hits(context: CommandContext, report: HitReport, *, custodians: bool) -> None:
    """Print the table of a list of terms."""
    numbers = ("items", "with family", "families", "unique: items", "families")
    rows = list(_hit_rows(report, custodians))
    columns = ("line", "term", *(("custodian",) if custodians else ()), *numbers)
    context.out.print(table(columns, rows, right=(0, *range(len(columns) - len(numbers), len(columns)))))
    context.say(f"{report.total.items:,} of {many(report.searched_items, 'item')}")


def _hit_rows(report: HitReport, custodians: bool) -> Iterator[tuple[object, ...]]:
    for term in report.terms:
        again = "" if term.same_as_line is None else f"  (same as line {term.same_as_line})"
        yield from _with_custodians((term.line, term.term + again), term, term.custodians if custodians else None)
    yield from _with_custodians(("", "any term"), report.total, report.custodians if custodians else None)


def _with_custodians(
    begin: tuple[object, ...], hits: Hits, each: list[CustodianHits] | None
) -> Iterator[tuple[object, ...]]:
    yield (*begin, *(() if each is None else ("",)), *_numbers(hits))
    yield from (("", "", one.custodian, *_numbers(one)) for one in each or ())


def _numbers(hits: Hits) -> tuple[int, ...]:
    from controller.search.report import Hits  # as in `terms`

    return tuple(getattr(hits, name) for name in Hits.model_fields)  # not fields of derived types


@commands.add("tag", "edbench review tag last privileged 'sender:counsel OR \"attorney client\"' --families")
def tag(
    ctx: typer.Context,
    job: opt.JobArgument,
    name: Annotated[str, typer.Argument(metavar="[TAG]", help="letters, digits, blanks and _ . -")] = "",
    query: Annotated[
        str, typer.Argument(metavar="[QUERY]", help="selects the items, as for `edbench review search`")
    ] = "",
    items: Annotated[
        list[str] | None,
        typer.Option("--item", metavar="ITEM", help="Tag this item instead of those of a query; repeatable."),
    ] = None,
    families: Families = False,
    remove: Annotated[bool, typer.Option("--remove", help=texts.REMOVE)] = False,
) -> None:
    """Tag the items that a query finds, or list the tags.

    `tag:NAME` in a query finds tagged items. Without TAG, list the tags; `edbench job custody JOB --actions` lists all
    changes to them."""
    if items and query.strip():
        raise UsageError("--item and QUERY exclude each other; give one")
    if bool(name) != bool(items or query.strip()):
        raise UsageError("TAG requires QUERY or --item ITEM: edbench review tag JOB TAG QUERY")
    context = shared(ctx)
    work = ("controller.search.named", "controller.search.opened")
    with installation(context.settings(), work=work, looks=bool(name)) as installed:
        from controller.browse.pages import item_called
        from controller.search.named import tag_found, tag_items
        from controller.search.opened import opened_index

        handles = installed.find_discovered(job).each
        if not name:
            _show_tags(context, handles)
            return
        if items:
            chosen = [item_called(handles, one) for one in items]
            made = tag_items(handles, name, chosen, families=families, remove=remove)
        else:
            opened = partial(opened_index, settings=installed.settings)
            made = tag_found(handles, opened, name, query, families=families, remove=remove)
        if context.document(made):
            return
        done = "removed from" if remove else "added to"
        print(f"{many(made.found, 'item')} found, tag {made.tag} {done} {made.changed:,} of them")
        for unaware in made.unaware:
            print(
                f"job {unaware} uses this tag and selected its items before this change: cancel it and create it again"
            )


def _show_tags(context: CommandContext, handles: Sequence[JobHandle]) -> None:
    from controller.search.named import tags_of

    tags = tags_of(handles)
    if context.document(tags):
        return
    rows = [
        (tag.tag, tag.items, f"{tag.first_at:%Y-%m-%d %H:%M:%S %z}", f"{tag.last_at:%Y-%m-%d %H:%M:%S %z}")
        for tag in tags
    ]
    context.out.print(table(("tag", "items", "first tagged", "last tagged"), rows, right=(1,), whole=(0,)))
