"""The unpack engine over bytes in memory, driven as a chain of expand tasks drives it; and builders of containers."""

import hashlib
import io
import tarfile
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage

from core.places import item_id
from core.records import JobOptions, Limits
from readers.base import Handler, MemorySource, Source
from readers.errors import ExceptionCode
from readers.identification.identify import identify
from readers.records import Kind
from readers.registry import handler_for
from sql.findings import Item
from worker.costs import Allowance, Budget
from worker.items.findings import Findings
from worker.items.unpack import Deferred, Unpacker
from worker.slots.breadcrumb import Breadcrumb

JOB = uuid.UUID(int=7)


class MemoryStore:
    """Keeps children in a dictionary; one that is dropped half-way leaves nothing, as on the filer."""

    def __init__(self) -> None:
        self.kept: dict[uuid.UUID, bytes] = {}

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        self.kept[item] = b"".join(chunks)
        return item.hex.encode()

    def source(self, item: uuid.UUID, name: bytes, size: int, sha256: bytes) -> Source:
        return MemorySource(name, self.kept[item])


@dataclass
class Unpacked:
    """What came out of one loose file."""

    out: Findings = field(default_factory=Findings)
    store: MemoryStore = field(default_factory=MemoryStore)
    deferred: int = 0
    seen: list[tuple[Item, bool]] = field(default_factory=list)  # (item, had readable bytes) in order

    @property
    def by_path(self) -> dict[tuple[str, ...], Item]:
        return {item.container_path: item for item in self.out.items}

    def codes(self, *path: str) -> list[str]:
        """The exception codes of the item with this container path, sorted."""
        ident = self.by_path[path].id
        return sorted(e.code.value for e in self.out.exceptions if e.item == ident)

    def counts(self) -> dict[uuid.UUID, tuple[int | None, int, int, bool]]:
        """(announced, emitted, failed, remainder unknown) of each container, ranges added up as the ledger does."""
        merged: dict[uuid.UUID, tuple[int | None, int, int, bool]] = {}
        for c in self.out.containers:
            announced, emitted, failed, unknown = merged.get(c.item, (None, 0, 0, False))
            known = [n for n in (announced, c.announced) if n is not None]
            merged[c.item] = (
                max(known) if known else None,
                emitted + c.emitted,
                failed + c.failed,
                unknown or c.remainder_unknown,
            )
        return merged

    def count(self, *path: str) -> tuple[int | None, int, int, bool]:
        return self.counts()[self.by_path[path].id]


def loose_item(name: bytes, data: bytes) -> tuple[Item, Source, Handler]:
    """A loose file in memory, with what reads it."""
    source = MemorySource(name, data)
    media_type = identify(source, None)
    handler = handler_for(media_type)
    ident = item_id(JOB, None, name)
    loose = Item(
        id=ident,
        parent=None,
        family=None if handler.container else ident,
        custodian=3,
        ordinal=name,
        depth=0,
        name=name,
        container_path=(name.decode(),),
        kind=Kind.LOOSE_FILE,
        container=handler.container,
        media_type=media_type,
        size=len(data),
        sha256=hashlib.sha256(data).digest(),
    )
    return loose, source, handler


def unpack(
    name: bytes,
    data: bytes,
    *,
    options: JobOptions | None = None,
    limits: Limits | None = None,
    defer: bool = False,
    convicted: Mapping[uuid.UUID, tuple[ExceptionCode, str]] | None = None,
) -> Unpacked:
    """Everything in one loose file; with `defer`, big things are taken up again as later tasks take them up."""
    options = options or JobOptions(limits=limits or Limits())
    found = Unpacked()
    queue: list[Deferred] = []

    def on_item(item: Item, source: Source | None, handler: Handler) -> None:
        found.seen.append((item, source is not None))

    unpacker = Unpacker(
        job=JOB,
        options=options,
        store=found.store,
        breadcrumb=Breadcrumb(),
        out=found.out,
        on_item=on_item,
        convicted=convicted or {},
        defer=queue.append if defer else None,
    )
    loose, source, handler = loose_item(name, data)
    unpacker.emit(loose, source, handler)
    unpacker.open(loose, source, handler, Budget(options.limits, len(data)))
    taken_up: list[tuple[Deferred, Allowance]] = []
    while queue or taken_up:
        taken_up += _shared(queue)
        queue.clear()
        found.deferred += 1
        _again(unpacker, *taken_up.pop(0), found, source)
    return found


def _shared(deferred: list[Deferred]) -> list[tuple[Deferred, Allowance]]:
    """With its share each, as at the end of a task."""
    if not deferred:
        return []
    shares = deferred[0].budget.hand_over([d.cost for d in deferred])
    return list(zip(deferred, shares, strict=True))


def _again(unpacker: Unpacker, deferred: Deferred, share: Allowance, found: Unpacked, loose: Source) -> None:
    """As `worker.phases.expand` goes on with a handed-on item."""
    item = deferred.item
    handler = handler_for(item.media_type)
    source = loose if item.parent is None else found.store.source(item.id, item.name, item.size, item.sha256 or b"")
    budget = Budget(unpacker.options.limits, deferred.budget.loose_bytes, allowance=share)
    if deferred.part is not None:
        unpacker.children(item, source, handler, budget, deferred.part)
    elif item.container and item.size > unpacker.options.split_bytes:
        if not unpacker.split(item, source, handler, budget):
            unpacker.children(item, source, handler, budget)
    else:
        unpacker.open(item, source, handler, budget)


def make_zip(members: Mapping[str, bytes] | Iterable[tuple[str, bytes]], *, stored: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items() if isinstance(members, Mapping) else members:
            archive.writestr(zipfile.ZipInfo(name), data, archive.compression)
    return out.getvalue()


def make_tar(members: Mapping[str, bytes], *, mode: str = "w:gz", link: str | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "elsewhere"
            archive.addfile(info)
    return out.getvalue()


def make_mail(subject: str, body: str = "hello\n", attachments: Mapping[str, bytes] | None = None) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "ann@example.org", "bob@example.org", subject
    mail["Message-ID"] = f"<{subject.encode().hex()}@example.org>"
    mail.set_content(body)
    for name, data in (attachments or {}).items():
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


def make_mbox(*mails: bytes) -> bytes:
    return b"".join(b"From ann@example.org Thu Jan  1 00:00:00 2026\n" + mail + b"\n" for mail in mails)


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def make_docx(text: str = "a paragraph", picture: bytes = PNG) -> bytes:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>'
    )
    return make_zip(
        {
            "[Content_Types].xml": types.encode(),
            "word/document.xml": f"<w:document {w}><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>".encode(),
            "word/media/image1.png": picture,
        }
    )
