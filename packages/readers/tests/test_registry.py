"""readers.registry: declarations are checked, every type finds a handler."""

from __future__ import annotations

import pytest

from readers.base import Handler, LeafHandler, MemorySource, Source, is_leaf
from readers.listing import listed
from readers.modules import LIKELY
from readers.registry import all_handlers, check_handlers, handler_for


class One(LeafHandler):
    name = "one"
    media_types: tuple[str, ...] = ("application/x-one",)


class Two(LeafHandler):
    name = "two"
    media_types: tuple[str, ...] = ("application/x-two", "application/x-one")


class Malformed(LeafHandler):
    name = "malformed"
    media_types: tuple[str, ...] = ("Application",)


class Nameless(LeafHandler):
    media_types: tuple[str, ...] = ("application/x-nameless",)


class Incomplete(LeafHandler):
    name = "incomplete"
    media_types: tuple[str, ...] = ("application/x-incomplete",)
    container = None  # type: ignore[assignment]


@pytest.mark.parametrize("handlers", [(One(), Two()), (Malformed(),), (Nameless(),), (Incomplete(),), (One(), One())])
def test_bad_declarations_are_refused(handlers: tuple[Handler, ...]) -> None:
    with pytest.raises(ValueError, match=r"Malformed|Nameless|Two|Incomplete|One"):
        check_handlers(handlers)


@pytest.mark.parametrize(
    ("media_type", "name", "container"),
    [
        ("message/rfc822", "eml", False),
        ("application/mbox", "mbox", True),
        ("application/zip", "zip", True),
        ("application/x-tar", "tar", True),
        ("application/gzip", "gzip", True),
        ("application/epub+zip", "zip", True),
        ("application/vnd.etsi.asic-e+zip", "zip", True),
    ],
)
def test_containers_and_mail_have_handlers(media_type: str, name: str, container: bool) -> None:
    handler = handler_for(media_type)
    assert handler.name == name
    assert handler.container is container


def test_unknown_types_are_leaves() -> None:
    handler = handler_for("application/x-nobody-knows")
    source = MemorySource(b"x", b"y")
    assert handler.announced(source) is None
    assert handler.parts(source, 1) == []
    assert handler not in all_handlers()


def test_unknown_text_is_text() -> None:
    """Unknown subtypes of text are read as text/plain (RFC 2046, 4.1.4)."""
    assert handler_for("text/x-unheard-of") is handler_for("text/plain")


def test_each_handler_is_listed_once() -> None:
    """`all_handlers` is what pages and documentation list."""
    handlers = all_handlers()
    assert len({handler.name for handler in handlers}) == len(handlers) >= 5


class Parent(One):
    """Has children."""

    def announced(self, source: Source) -> int | None:
        return 1


class Container(One):
    """Would have them."""

    container = True


def test_only_who_cannot_have_children_is_not_asked_for_them() -> None:
    assert is_leaf(One())
    assert not is_leaf(Parent())
    assert not is_leaf(Container())
    assert is_leaf(handler_for("text/plain"))
    assert not any(
        is_leaf(handler_for(name)) for name in ("text/html", "application/zip", "message/rfc822", "text/vcard")
    )


def test_what_a_file_is_likely_to_be_by_its_name_is_what_its_handler_declares() -> None:
    for ending, media_type in LIKELY.items():
        declared = [one for one in listed((handler_for(media_type),)) if media_type in one.media_types]
        assert any(ending in one.declared.extensions for one in declared), ending
