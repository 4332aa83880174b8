"""Declarations of a handler about its formats for users: the only source of `edbench formats` and docs/formats.md.

To declare formats, give the handler class `declared = Declared(...).alone()` next to its limits, or a tuple with one
for each format that users have a name for. packages/readers/tests/test_registry.py names every built-in handler without
one, and compares the declarations with what the handlers do with real files. Afterwards run `make formats-page`."""

from __future__ import annotations

import msgspec


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """One format as users know it. Sentences are fragments without a full stop: "cells by rows, hidden sheets too"."""

    title: str  # "Excel workbooks, 97 to 2003"
    extensions: tuple[str, ...]  # the usual ones, lower case, without the dot; the bytes decide, not these
    media_types: tuple[str, ...] = ()  # the handler's media types that are this format; () for all
    text: str = ""  # what becomes text; "" if the state is `empty` (a container), `no text layer` or `unsupported`
    metadata: tuple[str, ...] = ()  # keys of readers.keys that it may give
    children: str = ""  # what its children are, in their order; "" where it has none
    announces: str = ""  # what gives the number of children ("the central directory"); "" where nothing does
    leaves_out: tuple[str, ...]  # what is not extracted, and limits of its own; at least one

    def alone(self) -> tuple[Declared, ...]:
        """The declarations of a handler that reads this format only."""
        return (self,)


def declared_types(media_types: tuple[str, ...], one: Declared) -> tuple[str, ...]:
    """Return the media types of one format of a handler with `media_types`."""
    return one.media_types or media_types
