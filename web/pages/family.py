"""A family as a tree to draw."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from web.api.models.items import Family, FamilyMember

CHILDREN_SHOWN = 100  # of each parent; the item of the page is always one of them


@dataclass(slots=True)
class Node:
    """One item with its children."""

    item: FamilyMember
    children: list[Node] = field(default_factory=list)
    more: int = 0  # children that are not drawn


def tree(family: Family) -> list[Node]:
    """The outermost items, usually one, with everything that is drawn below them."""
    nodes = {member.id: Node(member) for member in (*family.ancestors, *family.members)}
    roots: list[Node] = []
    for node in nodes.values():
        parent = nodes.get(node.item.parent) if node.item.parent else None
        (roots if parent is None else parent.children).append(node)
    for node in nodes.values():
        _shorten(node, family.item, {each.id for each in family.ancestors})
    return roots


def _shorten(node: Node, about: uuid.UUID, above: set[uuid.UUID]) -> None:
    shown = [
        child
        for number, child in enumerate(node.children)
        if number < CHILDREN_SHOWN or child.item.id == about or child.item.id in above
    ]
    node.more = len(node.children) - len(shown)
    node.children = shown
