"""Every format handler by the media types it declares; declarations are checked when this is imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from formats.archives import ar, cab, compressed, cpio, iso, split_part
from formats.archives.gzip import handler as gzip
from formats.archives.rar import handler as rar
from formats.archives.sevenz import handler as sevenz
from formats.archives.tar import handler as tar
from formats.archives.zip import handler as zip
from formats.base import Handler, LeafHandler
from formats.documents.pdf import handler as pdf
from formats.documents.rtf import handler as rtf
from formats.images import handler as image
from formats.mail import eml, emlx, mhtml
from formats.mail.contacts import handler as contacts
from formats.mail.mbox import handler as mbox
from formats.mail.smime import handler as smime
from formats.office.doc import handler as doc
from formats.office.odf import handler as odf
from formats.office.ole import handler as ole_storage
from formats.office.onenote import handler as onenote
from formats.office.ooxml import handler as ooxml
from formats.office.ppt import handler as ppt
from formats.office.xls import handler as xls
from formats.outlook.msg import handler as msg
from formats.outlook.pst import handler as pst
from formats.outlook.tnef import handler as tnef
from formats.tables import csv
from formats.tables.dbase import handler as dbase
from formats.text import plain as text
from formats.text.html import handler as html

_MODULES = (
    eml,
    mbox,
    emlx,
    msg,
    pst,
    smime,
    tnef,
    zip,
    tar,
    gzip,
    compressed,
    sevenz,
    split_part,
    rar,
    cab,
    ar,
    cpio,
    iso,
    ooxml,
    doc,
    xls,
    ppt,
    ole_storage,
    onenote,
    pdf,
    html,
    text,
    csv,
    dbase,
    image,
    rtf,
    odf,
    contacts,
    mhtml,
)

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+_-]{0,126}")
_ATTRIBUTES = (("name", str), ("media_types", tuple), ("container", bool), ("splits", bool), ("whole", bool))
_METHODS = ("announced", "parts", "children", "text", "message_hashes")


class _UnknownHandler(LeafHandler):
    """For everything nobody declares: an item without children and without text."""

    name = "unknown"
    whole = False


_UNKNOWN = _UnknownHandler()


def check_handlers(handlers: Iterable[Handler]) -> dict[str, Handler]:
    """The handlers by media type; ValueError when a declaration is incomplete, malformed or made twice."""
    found: dict[str, Handler] = {}
    names: set[str] = set()
    for handler in handlers:
        label = f"{type(handler).__module__}.{type(handler).__name__}"
        for attribute, kind in _ATTRIBUTES:
            if not isinstance(getattr(handler, attribute, None), kind):
                raise ValueError(f"{label}: attribute {attribute} must be a {kind.__name__}")
        for method in _METHODS:
            if not callable(getattr(handler, method, None)):
                raise ValueError(f"{label}: method {method} is missing")
        if not handler.name or handler.name in names:
            raise ValueError(f"{label}: name {handler.name!r} is empty or taken")
        names.add(handler.name)
        if not handler.media_types:
            raise ValueError(f"{label}: declares no media type")
        for media_type in handler.media_types:
            if not _MEDIA_TYPE.fullmatch(media_type):
                raise ValueError(f"{label}: {media_type!r} is not a media type in lower case")
            if media_type in found:
                raise ValueError(f"{label}: {media_type} is already declared by {found[media_type].name}")
            found[media_type] = handler
    return found


_HANDLERS = check_handlers(handler for module in _MODULES for handler in module.HANDLERS)


def handler_for(media_type: str) -> Handler:
    """The handler that declares this media type; the plain-text handler for unknown subtypes of text, that of zip
    archives for what ends with "+zip"; else one that gives neither children nor text."""
    found = _HANDLERS.get(media_type)
    if found is not None:
        return found
    if media_type.startswith("text/"):  # unknown subtypes of text are read as text/plain (RFC 2046, 4.1.4)
        return _HANDLERS["text/plain"]
    if media_type.endswith("+zip"):  # a zip archive whatever else it is (RFC 6839, 3.6)
        return _HANDLERS["application/zip"]
    return _UNKNOWN


def register(handlers: Iterable[Handler]) -> None:
    """Add handlers that are not ours (see worker.plugins); ValueError when a declaration clashes with another."""
    known = all_handlers()
    _HANDLERS.update(check_handlers((*known, *(h for h in handlers if h not in known))))


def replace(instead: Callable[[Handler], Handler]) -> None:
    """Have something else stand for every handler, for the rest of this process (worker.box)."""
    made = {handler: instead(handler) for handler in all_handlers()}
    _HANDLERS.update({media_type: made[handler] for media_type, handler in _HANDLERS.items()})


def all_handlers() -> tuple[Handler, ...]:
    """Every handler once, in order of declaration."""
    return tuple(dict.fromkeys(_HANDLERS.values()))
