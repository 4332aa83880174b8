"""What `edbench search` shows; imported while the services start."""

from __future__ import annotations

from functools import partial

from rich.text import Text

import worker.indexes.tantivy_engine  # noqa: F401 — of nearly every job; here it comes while the services start
from cli.context import CommandContext
from cli.installation import Installation
from cli.output import print_json
from cli.show.table import table
from controller.browse.search import HIGHLIGHT_START, HIGHLIGHT_STOP, FoundItem, search_all
from controller.search.opened import opened_index
from worker.indexes.nodes import asks_ledger
from worker.indexes.query_language import parse


def show_found(
    context: CommandContext,
    installed: Installation,
    job: str,
    query: str,
    limit: int,
    *,
    custodian: str | None,
    families: bool,
    save: str | None,
    as_json: bool,
) -> None:
    """The best matches; the query is kept when it was understood."""
    handles = installed.find_discovered(job).each
    opened = partial(opened_index, settings=installed.settings)
    if custodian is None and not families and not asks_ledger(parse(query)):
        hits, number = search_all(handles, opened, query, limit)
    else:
        from controller.search.answers import Wanted, count_all  # numbers in rows: a tenth of a second

        wanted = Wanted(query=query, limit=limit, custodian=custodian, families=families)
        hits, number = count_all(handles, opened, wanted)
    if save is not None:
        from controller.search.named import save_search  # brings documents

        save_search(handles, save, query)
    if as_json:
        print_json([hit.to_json() for hit in hits])
    else:
        _show(context, hits, number)


def show_saved(context: CommandContext, installed: Installation, job: str, forget: str | None, as_json: bool) -> None:
    """The searches that are kept, after one was forgotten."""
    from controller.search.named import forget_search, searches_of

    handles = installed.find_discovered(job).each
    if forget is not None:
        forget_search(handles, forget)
    searches = searches_of(handles)
    if as_json:
        print_json([search.to_json() for search in searches])
        return
    rows = [(each.name, each.query, each.saved_by, f"{each.saved_at:%Y-%m-%d %H:%M:%S %z}") for each in searches]
    context.out.print(table(("name", "query", "by", "at"), rows, whole=(0,)))


def _show(context: CommandContext, found_items: list[FoundItem], number: int) -> None:
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
    shown = f" of {number:,}" if number > len(found_items) else ""
    context.say(f"{len(found_items):,}{shown} items" if found_items else "nothing found")


def highlighted(snippet: str) -> Text:
    """The snippet on one line with its matches in bold."""
    text = Text()
    for number, piece in enumerate(" ".join(snippet.split()).split(HIGHLIGHT_START)):
        marked, stop, rest = piece.partition(HIGHLIGHT_STOP)
        if number and stop:
            text.append(marked, style="bold")
            text.append(rest)
        else:
            text.append(piece)
    return text
