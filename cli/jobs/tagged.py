"""What `edbench tag` does and shows; imported while the services start."""

from __future__ import annotations

import json
from functools import partial

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import print_json
from cli.show.table import table
from controller.browse.pages import item_called
from controller.custody.actions import actions_of
from controller.search.named import tag_found, tag_items, tags_of
from controller.search.opened import opened_index


def change(
    installed: Installation,
    job: str,
    tag: str,
    wanted: str | list[str],
    *,
    families: bool,
    remove: bool,
    as_json: bool,
) -> None:
    """Give or take a tag, and say of how many items: those that a query finds, or those with these ids."""
    opened = partial(opened_index, settings=installed.settings)
    handles = installed.find_discovered(job).each
    if isinstance(wanted, str):
        made = tag_found(handles, opened, tag, wanted, families=families, remove=remove)
    else:
        items = [item_called(handles, one) for one in wanted]
        made = tag_items(handles, tag, items, families=families, remove=remove)
    if as_json:
        print_json(made.to_json())
    else:
        done = "lost" if remove else "got"
        print(f"{made.found:,} items found, {made.changed:,} of them {done} the tag {made.tag}")


def show_tags(context: CommandContext, installed: Installation, job: str, as_json: bool) -> None:
    """Every tag with its items."""
    tags = tags_of(installed.find_discovered(job).each)
    if as_json:
        print_json([tag.to_json() for tag in tags])
        return
    rows = [
        (tag.tag, tag.items, f"{tag.first_at:%Y-%m-%d %H:%M:%S %z}", f"{tag.last_at:%Y-%m-%d %H:%M:%S %z}")
        for tag in tags
    ]
    context.out.print(table(("tag", "items", "first given", "last given"), rows, right=(1,), whole=(0,)))


def show_history(context: CommandContext, installed: Installation, job: str, as_json: bool) -> None:
    """Who did what, oldest first."""
    actions = actions_of(installed.find_discovered(job).each)
    if as_json:
        print_json([action.to_json() for action in actions])
        return
    rows = [
        (f"{action.at:%Y-%m-%d %H:%M:%S %z}", action.who, action.action, json.dumps(action.details, ensure_ascii=False))
        for action in actions
    ]
    context.out.print(table(("at", "who", "action", "details"), rows, whole=(0,)))
