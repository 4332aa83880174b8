"""Mail messages (RFC 5322 and MIME): loose `.eml` files, messages of an mbox, attached messages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain, islice

from readers.base import Child, Declared, LeafHandler, MessageHashes, Part, Source, Text
from readers.charset import CHARSET_KEYS
from readers.clean import Collector, note_charset, value, values
from readers.errors import DocumentError, ExceptionCode, FieldUnread, corrupt, encrypted, truncated, unsupported
from readers.last import Last
from readers.mail import headers
from readers.mail.parts import MAX_PARTS, MailPart, Message
from readers.mail.text import body_texts, damage_of, folded, read_in
from readers.records import Kind, Limits, TextState
from readers.text.html import carried, html_decode, may_hold
from readers.text.unread import unread_in

_PARTIAL = "message/partial"
MAIL_KEYS = (
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message_id",
    "in_reply_to",
    "references",
    "reference_ids",
    "conversation",
    "date_original",
    "attachments",
    *CHARSET_KEYS,  # if it is neither declared nor UTF-8
)
_MAX_NAMES = 1000  # attachment names kept in the metadata
# A message without any of these is a text that begins like one: a memorandum, a printed message.
_OF_SYSTEMS = frozenset(
    b"message-id received return-path mime-version content-type content-transfer-encoding x-mailer user-agent references "
    b"in-reply-to delivered-to thread-index".split()
)
_OF_A_MEMO = (
    *("from", "to", "cc", "bcc", "subject", "date", "reply-to", "sender", "keywords", "comments", "organization"),
    *("organisation", "status", "importance", "priority", "sensitivity", "precedence", "lines", "newsgroups", "path"),
)  # metadata, or fields of programs
_NO_LINES = ("x-", "content-", "list-", "resent-", "dkim-", "arc-", "errors-")  # fields of programs
_MOST_LINES = 100


class EmlHandler(LeafHandler):
    """One message: its text, its header fields, and every other part as a child."""

    name = "eml"
    declared = Declared(
        title="Mail messages (MIME)",
        extensions=("eml",),
        text="the plain body, then those lines of the HTML body that have other words, or the whole HTML body if it "
        "has much more text; all body parts of a message with several",
        metadata=(*MAIL_KEYS, *headers.RARER_KEYS, "signed"),
        children="attachments in order, decoded: attached messages unchanged, inline pictures, and files in the text as "
        "uuencode, yEnc and `data:` URIs",
        leaves_out=(
            "lines of the HTML body whose words are in the plain body (they remain in the message)",
            "the contents of encrypted messages (S/MIME, PGP)",
            "the data that a message/external-body part refers to: the child is the reference",
            "header fields other than those in the metadata; text before the first part of a multipart",
            "joining a message sent in several parts: the content of each part is its child, unchanged",
            "names beyond the first 1,000 attachments in the metadata",
            "parts beyond the first 100,000: the exception is `children_limit`",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield files in its web pages, then every other part, decoded, attached messages included, in order. Raises
        DocumentError `truncated` at the end if the outermost multipart has no closing boundary, `corrupt` if there is
        no header. A part whose encoding is damaged comes with what can be read and the error `corrupt`."""
        message = _MESSAGES(source.whole(limits.parse_bytes))
        yield from in_pages(message, Kind.ATTACHMENT)
        for position, leaf in enumerate(message.child_parts()):
            whole = leaf is message.root and leaf.media_type == _PARTIAL
            # A message that is one part of several has that exception itself.
            yield child_of(leaf, position, Kind.ATTACHMENT, media_type=None if whole else leaf.media_type)
        if (error := _headless(message) or cut(message, "message")) is not None:
            raise error

    def text(self, source: Source, limits: Limits) -> Text:
        """Return body text, and header fields as metadata. One part of a message sent in several is `unsupported`: its
        content becomes its child, unchanged. The error reports text that is damaged, cut or omitted."""
        message = _MESSAGES(source.whole(limits.parse_bytes))
        out = message.body(limits).result("\n")
        fields = message.root.fields
        described = values(headers.header_metadata(fields))
        if not fields.has_any(_OF_SYSTEMS):
            out.text = _memo(fields) + out.text
        note_charset(out, read_in(message.root))
        if out.state is None and headers.words_guessed(fields):
            out.state = TextState.GUESSED
        out.metadata |= described
        references = fields.raw(b"references")
        if references and (ids := headers.message_ids(headers.decode_text(references))):
            out.metadata["references"] = len(ids)
            out.metadata["reference_ids"] = [value(each) for each in headers.reference_ids(ids)]
        if children := message.child_parts():
            named = enumerate(children[:_MAX_NAMES])
            out.metadata["attachments"] = [value(leaf.file_name or f"part-{position}") for position, leaf in named]
        kind = message.root.media_type
        if kind == "multipart/signed":
            out.metadata["signed"] = True
        elif kind == _PARTIAL:
            out.error = _partial(message)
        elif kind == "multipart/encrypted":
            # PGP/MIME and the like (RFC 1847); encrypted S/MIME is a part with a type of its own.
            out.error = encrypted("an encrypted message")
        out.error = out.error or _headless(message) or damage_of(message.root) or text_cut(message, "message")
        out.error = out.error or unread_in(out.text) or _date_unread(fields)
        return out

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Return content hash and EDRM MIH. For a message over the parse limit only the first bytes are used."""
        try:
            data = source.whole(limits.parse_bytes)
        except DocumentError:
            data = source.head
        message = _MESSAGES(data)
        return MessageHashes(
            content_hash=content_hash(message, limits), message_id_hash=headers.message_id_hash(message.root.fields)
        )


class _ReadMessage(Message):
    """A message that keeps its text once it was read."""

    __slots__ = ("_body",)

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._body: tuple[int, Collector] | None = None

    def body(self, limits: Limits) -> Collector:
        """Return the pieces of its text, up to the limit."""
        if self._body is None or self._body[0] != limits.text_characters:
            self._body = (limits.text_characters, _body(self, limits))
        return self._body[1]


_MESSAGES = Last(_ReadMessage)


def _headless(message: Message) -> DocumentError | None:
    """Return the error for a message without a header, if it has none: all of it is text then."""
    root = message.root
    if not (len(root.fields) or root.children) and root.content().strip():
        return corrupt("no header field at the start of the message")
    return None


def cut(message: Message, called: str) -> DocumentError | None:
    """Return the error for a message, or a web archive, that was not read completely, if it was not."""
    if message.truncated:
        return truncated(f"the {called} ends before its closing boundary")
    if message.limited:
        return DocumentError(ExceptionCode.CHILDREN_LIMIT, f"it has more than {MAX_PARTS} parts; the rest are left out")
    return None


def text_cut(message: Message, called: str) -> DocumentError | None:
    """Return the same if text may be missing: not if an attachment is cut, which has its own text."""
    return None if message.truncated and not message.ends_in_text else cut(message, called)


def _date_unread(fields: headers.Fields) -> DocumentError | None:
    """Return the error for a date that is not in the metadata because it cannot be read with certainty."""
    stored = fields.stored(b"date")
    if not stored.strip() or headers.field_moment(stored) is not None:
        return None
    return FieldUnread(ExceptionCode.CORRUPT, f"the date is ambiguous or invalid: {fields.text(b'date')[:80]!r}")


def _partial(message: Message) -> DocumentError:
    """Return the error for a message/partial (RFC 2046, 5.2.2), which is not a whole message."""
    given = headers.parameters(headers.decode_text(message.root.fields.raw(b"content-type")))
    place = f"part {given.get('number', '?')[:9]} of {given.get('total', '?')[:9]} of a message"
    return unsupported(f"{place}; join the parts first")


def _memo(fields: headers.Fields) -> str:
    """Return the header-like lines of a text that no mail system has processed, without those that are metadata."""
    kept = ((name, text) for name, text in islice(fields.items(), _MOST_LINES) if not name.startswith(_NO_LINES))
    return "".join(f"{name.capitalize()}: {text}\n" for name, text in kept if name not in _OF_A_MEMO)


def in_pages(message: Message, kind: Kind) -> Iterator[Child]:
    """Yield the files in `data:` URIs of the web pages that are its text, with ordinals after those of its parts."""
    pages = (leaf for leaf in message.leaves() if leaf.is_body and leaf.media_type == "text/html")
    markups = (html_decode(page.content(), page.charset)[0] for page in pages if may_hold(page.content()))
    for ordinal, child in enumerate(chain.from_iterable(map(carried, markups)), MAX_PARTS):
        child.ordinal, child.kind = ordinal, kind
        yield child


def child_of(leaf: MailPart, position: int, kind: Kind, *, media_type: str | None, name: str | None = None) -> Child:
    """Return a part under this name, its declared file name or `part-N`; with an error if its encoding is damaged."""
    data = leaf.content()
    named = (leaf.file_name if name is None else name).encode("utf-8", "backslashreplace") or b"part-%d" % position
    error = corrupt(leaf.damage) if leaf.damage else None
    return Child(name=named, kind=kind, ordinal=position, data=data, error=error, media_type=media_type)


def _body(message: Message, limits: Limits) -> Collector:
    collector = Collector(limits.text_characters)
    collector.pieces(body_texts(message.root))
    return collector


def content_hash(message: _ReadMessage, limits: Limits) -> bytes:
    """Return the sha256 over normalised fields, so that two copies of a message that took different ways are equal:
    addresses (lower case, sorted), subject and body text (white space folded), date in UTC to the second, and the
    children's sha256 (sorted). A date that cannot be read counts as its text. Each field is preceded by its length."""
    fields = message.root.fields
    text, files = fields.text, (child.data or b"" for child in in_pages(message, Kind.ATTACHMENT))
    contents = chain((leaf.content() for leaf in message.child_parts()), files)
    wanted = (
        ",".join(headers.addresses(text(b"from"))).encode("utf-8", "replace"),
        ",".join(headers.addresses(text(b"to"))).encode("utf-8", "replace"),
        ",".join(headers.addresses(text(b"cc"))).encode("utf-8", "replace"),
        folded(text(b"subject")),
        headers.field_date(fields.stored(b"date")).encode("ascii") or folded(text(b"date")),
        folded(message.body(limits).text(" ")),
        ",".join(sorted(hashlib.sha256(content).hexdigest() for content in contents)).encode("ascii"),
    )
    return hashlib.sha256(b"".join([piece for raw in wanted for piece in (len(raw).to_bytes(8, "big"), raw)])).digest()
