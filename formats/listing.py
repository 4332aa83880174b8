"""The formats that are read, as declared by their handlers: docs/formats.md, and what `edbench formats` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from core.records import Limits, TextState
from formats.base import Handler
from formats.declared import Declared, declared_types
from formats.keys import KEYS

STATES: dict[TextState, str] = {
    TextState.OK: "there is text, and all of it that is known of is indexed, but for what the format's list leaves out",
    TextState.GUESSED: "there is text, but the charset that it was read in may well be another: nothing says which, or what says it makes odd text of the bytes; "
    "`charset` and `charset_confidence` say more ([charsets.md](charsets.md))",
    TextState.PARTIAL: "there is text, and it is known not to be all of it, or pages show pictures instead of text; the exception says "
    "why. With `--ocr` such a document is `ok` once all these pages were read",
    TextState.EMPTY: "the format may have text and this item has none; containers, whose content is their children's",
    TextState.NO_TEXT_LAYER: "a picture, or a PDF of pictures; `--ocr` reads it ([ocr.md](ocr.md)), and where it finds words the state is `ok`. "
    "What people wrote about a picture (captions, keywords, comments) is text of it all the same",
    TextState.ENCRYPTED: "a password is needed; the exception is `encrypted`",
    TextState.UNSUPPORTED: "nothing reads this type of file, or what it uses; the exception is `unsupported`",
    TextState.FAILED: "it is damaged or its bytes could not be had; the exception says why",
    TextState.TRUNCATED_BY_LIMIT: "the text was cut at the limit of characters; what is in front of the cut is indexed",
}
_LIMITS = {
    "depth": "containers and documents inside one another",
    "parse_bytes": "bytes of a document or message that has to be parsed whole; larger ones are `too_large`",
    "expansion_ratio": "extracted bytes over the bytes of the loose file, above …",
    "expansion_floor": "… so many extracted bytes",
    "extracted_bytes": "extracted bytes under one loose file",
    "children": "items under one loose file",
    "item_seconds": "seconds for one item, and …",
    "item_seconds_per_mb": "… so many more for each 10⁶ bytes of it",
    "hand_ons": "ranges and items under one loose file that are left to other tasks; the others are opened where they are found",
    "loose_seconds": "seconds of a processor for one loose file with all that it holds, in one phase, and …",
    "loose_seconds_per_mb": "… so many more for each 10⁶ bytes of it; then `time_limit`",
    "deaths": "slots that may die in one loose file, or in one container in it, in one phase, and …",
    "deaths_per_mb": "… so many more for each 10⁶ bytes of it; then `deaths_limit`",
    "text_characters": "characters of text taken from one item",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One format and the handler that reads it."""

    handler: Handler
    declared: Declared

    @property
    def media_types(self) -> tuple[str, ...]:
        return declared_types(self.handler.media_types, self.declared)

    def named(self, word: str) -> bool:
        """Whether a person may mean it by an extension, a media type or a word of its title."""
        wanted = word.lower().removeprefix(".")
        return wanted in (*self.declared.extensions, *self.media_types) or wanted in self.declared.title.lower()


def listed(handlers: Iterable[Handler]) -> list[Listed]:
    """Every format in the order of the handlers; those of a plugin that declares nothing are left out."""
    return [Listed(handler, one) for handler in handlers for one in getattr(handler, "declared", ())]


def markdown(handlers: Iterable[Handler]) -> str:
    """The page docs/formats.md."""
    return "\n".join(_page(listed(handlers))) + "\n"


def _page(formats: list[Listed]) -> Iterator[str]:
    yield "# Formats"
    yield ""
    yield "Made by `make formats-page` from what the format handlers declare; a test holds it against them. `edbench formats`"
    yield "lists the same, `edbench inspect FILE` shows what comes out of a file."
    yield ""
    yield "A file is what its bytes say: magic bytes first, then libmagic; the extension only breaks ties. Every file is an"
    yield "item with size, hash and media type. What no handler below reads (audio, video, programs, databases …) stays an"
    yield "item with the text state `unsupported`. For each container, children expected = emitted + failed, and failed ones"
    yield "are named, with their number, by exceptions at their container."
    yield ""
    yield from _table(("Format", "Extensions", "Text", "Children", "Announced by"), map(_summary, formats))
    for one in formats:
        yield from _section(one)
    yield from ("", "## Text states", "")
    yield from _table(("State", "Means"), ((f"`{state.value}`", meaning) for state, meaning in STATES.items()))
    said = "The same thing has the same key in every format. A text has at most 1,000 characters, recipients and some others "
    more = "more, as their line says; what is longer is cut there, in the index's fields too, and no exception tells of it."
    yield from ("", "## Metadata keys", "", said + more, "")
    yield from _table(("Key", "Value", "Means"), ((f"`{name}`", key.kind, key.meaning) for name, key in KEYS.items()))
    yield from (
        "",
        "## Limits",
        "",
        "Hitting one is an exception with its own code; what was extracted before it stays.",
        "",
    )
    yield from _table(("Limit", "Default", "Of what"), _limits())


def _summary(one: Listed) -> tuple[str, ...]:
    declared = one.declared
    ticked = " ".join(f"`.{extension}`" for extension in declared.extensions)
    marks = ("yes" if said else "" for said in (declared.text, declared.children))
    return (f"[{declared.title}](#{_anchor(declared.title)})", ticked, *marks, declared.announces)


def _anchor(title: str) -> str:
    """The name that GitHub gives a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def _section(one: Listed) -> Iterator[str]:
    yield from ("", f"## {one.declared.title}", "")
    for name, said in details(one):
        yield f"- {name}: {said}."


def details(one: Listed) -> Iterator[tuple[str, str]]:
    """What is known of a format, as names and sentences."""
    declared = one.declared
    package = type(one.handler).__module__.partition(".")[0]
    if package != __package__:
        yield (
            "Brought by",
            f"the plugin `{package}`; without it, an item with this type and the text state `unsupported`",
        )
    yield "Media types", ", ".join(f"`{media_type}`" for media_type in one.media_types)
    yield "Text", declared.text or "none"
    yield "Metadata", ", ".join(f"`{key}`" for key in declared.metadata) or "none"
    yield "Children", declared.children or "none"
    if one.handler.container and declared.children:
        yield "Announced by", declared.announces or "nothing: expected is what was found"
    yield "Left out", "; ".join(declared.leaves_out)
    if one.handler.splits:
        yield "Big ones", "cut into ranges that several workers read at once"
    if one.handler.whole:
        yield "Parsed whole", f"up to {Limits().parse_bytes:,} bytes"


def _limits() -> Iterator[tuple[str, str, str]]:
    for field in fields(Limits):
        value = getattr(Limits(), field.name)
        yield f"`{field.name}`", f"{value:,}" if isinstance(value, int) else f"{value:g}", _LIMITS[field.name]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
