"""What `edbench search` shows; imported while the services start."""

from __future__ import annotations

from rich.text import Text

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import print_json
from cli.show.table import table
from controller.browse.search import HIGHLIGHT_START, HIGHLIGHT_STOP, FoundItem, search_all


def show_found(
    context: CommandContext, installed: Installation, job: str, query: str, limit: int, as_json: bool
) -> None:
    """The best matches."""
    hits = search_all(installed.find(job).each, installed.settings, query, limit)
    if as_json:
        print_json([hit.to_json() for hit in hits])
    else:
        _show(context, hits)


def _show(context: CommandContext, found_items: list[FoundItem]) -> None:
    of_several = any(hit.database for hit in found_items)
    origin = ("database",) if of_several else ()
    out = table((*origin, "item", "family", "custodian", "container path", "type", "snippet"), [])
    for hit in found_items:
        out.add_row(
            *((Text(hit.database or ""),) if of_several else ()),
            Text(str(hit.item)[:8]),
            Text(str(hit.family)[:8] if hit.family else ""),
            Text(hit.custodian),
            Text(" / ".join(hit.container_path)),
            Text(hit.media_type),
            highlighted(hit.snippet),
        )
    context.out.print(out)
    context.say(f"{len(found_items)} items" if found_items else "nothing found")


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
