"""The unpack engine over real containers."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator

import pytest
from unpacking import JOB, PNG, make_docx, make_mail, make_mbox, make_tar, make_zip, unpack

from core.places import item_id, number
from core.records import JobOptions, Limits
from readers import registry
from readers.base import Child, LeafHandler, MessageHashes, Part, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import _REGISTERED, register_magic
from readers.records import Kind


def test_a_zip_in_a_zip() -> None:
    inner = make_zip({"deep.txt": b"deep"})
    found = unpack(b"a/out.zip", make_zip({"dir/": b"", "in.zip": inner, "top.txt": b"top"}))
    items = found.by_path
    assert set(items) == {
        ("a/out.zip",),
        ("a/out.zip", "in.zip"),
        ("a/out.zip", "in.zip", "deep.txt"),
        ("a/out.zip", "top.txt"),
    }
    outer, nested = items["a/out.zip",], items["a/out.zip", "in.zip"]
    deep, top = items["a/out.zip", "in.zip", "deep.txt"], items["a/out.zip", "top.txt"]
    assert (nested.ordinal, top.ordinal, deep.ordinal) == (number(1), number(2), number(0))
    assert (outer.depth, nested.depth, deep.depth) == (0, 1, 2)
    assert nested.container
    assert nested.family is None
    assert (deep.family, top.family) == (deep.id, top.id)
    assert deep.parent == nested.id
    assert deep.kind is top.kind is Kind.ARCHIVE_MEMBER
    assert deep.id == item_id(JOB, nested.id, number(0))
    assert deep.sha256 == hashlib.sha256(b"deep").digest()
    assert deep.custodian == 3
    assert found.store.kept[deep.id] == b"deep"
    assert found.count("a/out.zip") == (2, 2, 0, False)
    assert found.count("a/out.zip", "in.zip") == (1, 1, 0, False)
    assert found.out.extracted_bytes == len(inner) + 4 + 3
    assert found.out.exceptions == []


def test_a_name_that_says_more_than_was_read() -> None:
    page = b"<html><body>not found</body></html>"
    loose = [
        unpack(name, data).out.exceptions for name, data in ((b"a.docx", b"plain"), (b"a.pdf", page), (b"a.txt", page))
    ]
    assert [[e.code for e in each] for each in loose] == [["corrupt"], ["corrupt"], []]
    found = unpack(b"a.zip", make_zip({"a.jpg": b"plain", "b.jpg": make_zip({"c.txt": b"c"}), "d.xls": b"plain"}))
    assert [(e.item, e.code) for e in found.out.exceptions] == [(found.by_path["a.zip", "a.jpg"].id, "corrupt")]
    assert ("a.zip", "b.jpg", "c.txt") in found.by_path


def test_mail_in_an_mbox() -> None:
    mail = make_mail("one", attachments={"a.bin": b"\1\2\3", "b.zip": make_zip({"in.txt": b"in"})})
    second = make_mail("two")
    data = make_mbox(mail, second)
    found = unpack(b"x.mbox", data)
    offset = data.index(b"From ann", 10)
    message, other = found.by_path["x.mbox", "message@0"], found.by_path["x.mbox", f"message@{offset}"]
    attached = found.by_path["x.mbox", "message@0", "a.bin"]
    inside = found.by_path["x.mbox", "message@0", "b.zip", "in.txt"]
    assert message.kind is Kind.MESSAGE
    assert message.media_type == "message/rfc822"
    assert (message.family, other.family) == (message.id, other.id)
    assert message.ordinal == number(0)
    assert other.ordinal == number(offset)
    assert message.content_hash
    assert message.message_id_hash == hashlib.md5(b"<6f6e65@example.org>").digest()
    assert message.sha256 == hashlib.sha256(mail).digest()
    assert attached.kind is Kind.ATTACHMENT
    assert attached.family == message.id
    assert inside.family == message.id
    assert inside.kind is Kind.ARCHIVE_MEMBER
    assert found.count("x.mbox") == (None, 2, 0, False)
    assert found.count("x.mbox", "message@0") == (None, 2, 0, False)
    assert other.id not in found.counts()  # a message without attachments holds nothing


def test_a_tar_gz_and_a_link_in_it() -> None:
    """Members of the tar are children of the .tar.gz itself; a link has a row and its code, but no bytes."""
    found = unpack(b"t.tar.gz", make_tar({"a.txt": b"aa", "b/c.txt": b"ccc"}, link="b/link"))
    assert found.by_path["t.tar.gz", "b/c.txt"].ordinal == number(1)
    link = found.by_path["t.tar.gz", "b/link"]
    assert (link.size, link.sha256, link.media_type) == (0, None, "inode/symlink")
    assert found.codes("t.tar.gz", "b/link") == ["symlink"]
    assert link.id not in found.store.kept
    assert found.count("t.tar.gz") == (None, 3, 0, False)


def test_a_docx_with_a_picture() -> None:
    """A document is no container, but what it embeds is an item of its family."""
    found = unpack(b"d.docx", make_docx())
    document, picture = found.by_path["d.docx",], found.by_path["d.docx", "image1.png"]
    assert not document.container
    assert document.family == document.id == picture.family == picture.parent
    assert picture.kind is Kind.EMBEDDED_OBJECT
    assert picture.media_type == "image/png"
    assert picture.sha256 == hashlib.sha256(PNG).digest()
    assert found.count("d.docx") == (None, 1, 0, False)


NESTED = make_zip(
    {
        "m.mbox": make_mbox(*(make_mail(f"mail {n}", attachments={"x.bin": bytes([n]) * 50}) for n in range(9))),
        "a.docx": make_docx(),
        "t.tar.gz": make_tar({f"{n}.txt": b"%d" % n * 40 for n in range(9)}),
        "plain.txt": b"words " * 99,
        "../up.txt": b"hostile",
        "empty.txt": b"",
    }
)


def test_two_runs_say_the_same() -> None:
    first, again = unpack(b"n.zip", NESTED), unpack(b"n.zip", NESTED)
    assert first.out == again.out
    assert len({item.id for item in first.out.items}) == len(first.out.items) == 1 + 6 + 9 + 9 + 1 + 9
    assert first.codes("n.zip", "../up.txt") == ["unsafe_name"]
    assert first.codes("n.zip", "empty.txt") == ["zero_bytes"]


def test_every_item_is_seen_once_with_its_bytes() -> None:
    found = unpack(b"n.zip", NESTED)
    assert [item for item, _ in found.seen] == found.out.items
    assert all(readable for _, readable in found.seen)


@pytest.mark.parametrize("split_bytes", [300, 2_000, 4_000])
def test_big_things_deferred_to_other_tasks_give_the_same_items(split_bytes: int) -> None:
    data = make_zip({"m.mbox": NESTED, "big.tar.gz": make_tar({"in.zip": NESTED, "c.txt": b"c"})}, stored=True)
    whole, parts = (
        unpack(b"n.zip", data),
        unpack(b"n.zip", data, options=JobOptions(split_bytes=split_bytes), defer=True),
    )
    assert parts.deferred > 1
    assert set(whole.out.items) == set(parts.out.items)
    assert len(parts.out.items) == len(whole.out.items)
    assert parts.counts() == whole.counts()
    assert sorted(map(repr, parts.out.exceptions)) == sorted(map(repr, whole.out.exceptions))


def _doll(levels: int) -> bytes:
    data = make_zip({"heart.txt": b"heart"})
    for _ in range(levels):
        data = make_zip({"in.zip": data})
    return data


@pytest.mark.parametrize("defer", [False, True])
def test_the_nesting_limit(defer: bool) -> None:
    options = JobOptions(limits=Limits(depth=3), split_bytes=10 if defer else 10**9)
    found = unpack(b"a.zip", _doll(5), options=options, defer=defer)
    assert max(item.depth for item in found.out.items) == 3
    closed = ("a.zip", "in.zip", "in.zip", "in.zip")
    assert found.codes(*closed) == ["nesting_limit"]
    assert found.count(*closed) == (1, 0, 1, False)
    assert found.count("a.zip") == (1, 1, 0, False)


def test_the_nesting_limit_holds_for_members_that_were_handed_on() -> None:
    options = JobOptions(limits=Limits(depth=1), split_bytes=10)
    found = unpack(b"a.tgz", make_tar({"in.zip": _doll(1)}), options=options, defer=True)
    assert [item.depth for item in found.out.items] == [0, 1]
    assert found.codes("a.tgz", "in.zip") == ["nesting_limit"]


def test_the_nesting_limit_does_not_trouble_leaves_and_plain_mail() -> None:
    """Only what would have children is an exception at the limit; a document that has some gets it as its own."""
    members = {"a.txt": b"text", "m.eml": make_mail("plain"), "d.docx": make_docx()}
    found = unpack(b"a.zip", make_zip(members), limits=Limits(depth=1))
    assert found.codes("a.zip", "a.txt") == found.codes("a.zip", "m.eml") == []
    assert found.codes("a.zip", "d.docx") == ["nesting_limit"]


@pytest.mark.parametrize("size", [40_000, 9_000_000])  # handed out as bytes; as a stream
def test_a_bomb_is_stopped_and_its_siblings_stay(size: int) -> None:
    limits = Limits(expansion_floor=1_000, expansion_ratio=0.5)
    found = unpack(b"b.zip", make_zip({"a.txt": b"before", "bomb": bytes(size), "z.txt": b"after"}), limits=limits)
    assert set(found.by_path) == {("b.zip",), ("b.zip", "a.txt"), ("b.zip", "z.txt")}
    assert found.codes("b.zip") == ["expansion_limit"]
    assert found.count("b.zip") == (3, 2, 1, False)
    (bomb,) = found.out.exceptions
    assert bomb.missing == 1
    assert "'bomb'" not in bomb.detail
    assert "bomb" in bomb.detail


def test_a_gzip_bomb_that_announces_nothing() -> None:
    limits = Limits(expansion_floor=100_000, expansion_ratio=1.0)
    found = unpack(b"b.gz", gzip.compress(bytes(40_000_000)), limits=limits)
    assert list(found.by_path) == [("b.gz",)]
    assert found.codes("b.gz") == ["expansion_limit"]
    assert found.count("b.gz") == (None, 0, 1, False)


def test_the_children_limit() -> None:
    found = unpack(b"a.zip", make_zip({f"{n}.txt": b"x" for n in range(10)}), limits=Limits(children=4))
    assert len(found.out.items) == 1 + 4
    assert found.codes("a.zip") == ["children_limit"]
    assert found.count("a.zip") == (10, 4, 6, False)
    tar = unpack(b"a.tar", make_tar({"a": b"x"}, mode="w", link="b"), limits=Limits(children=1))
    assert tar.count("a.tar") == (None, 1, 1, False)


@pytest.mark.parametrize("target", [(), ("x.zip",)])
def test_a_convicted_item_is_not_opened(target: tuple[str, ...]) -> None:
    data = make_zip({"x.zip": make_zip({"in.txt": b"in"}), "y.txt": b"y"})
    ident = unpack(b"c.zip", data).by_path[("c.zip", *target)].id
    convicted = {ident: (ExceptionCode.KILLED_PARSER, "the slot ended with SIGABRT")}
    found = unpack(b"c.zip", data, convicted=convicted)
    assert found.codes("c.zip", *target) == ["killed_parser"]
    assert {item.id: readable for item, readable in found.seen}[ident] is False
    assert not any(item.parent == ident for item in found.out.items)
    assert (("c.zip", "y.txt") in found.by_path) is bool(target)


def test_a_convicted_stream_is_not_even_copied() -> None:
    data = make_zip({"big": bytes(9_000_000), "y.txt": b"y"})
    ident = item_id(JOB, item_id(JOB, None, b"c.zip"), number(0))
    found = unpack(b"c.zip", data, convicted={ident: (ExceptionCode.TIMEOUT, "late")})
    big = found.by_path["c.zip", "big"]
    assert (big.id, big.sha256) == (ident, None)
    assert found.codes("c.zip", "big") == ["timeout"]
    assert found.store.kept[found.by_path["c.zip", "y.txt"].id] == b"y"
    assert found.count("c.zip") == (2, 2, 0, False)


class _Clumsy(LeafHandler):
    """Fails where its bytes say."""

    name = "clumsy"
    media_types: tuple[str, ...] = ("application/x-clumsy",)
    container = True

    def announced(self, source: Source) -> int | None:
        if b"announced" in source.head:
            raise KeyError("announced")
        return 3 if b"known" in source.head else None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        yield Child(name=b"first", kind=Kind.ARCHIVE_MEMBER, ordinal=0, data=b"first")
        if b"children" in source.head:
            raise IndexError("no such thing")
        if b"memory" in source.head:
            raise MemoryError
        if b"deep" in source.head:
            raise RecursionError("too deep")
        if b"error" in source.head:
            raise DocumentError(ExceptionCode.CORRUPT, "two are gone", missing=2)

    def text(self, source: Source, limits: Limits) -> Text:
        return Text()

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        raise TypeError("no hashes")


@pytest.fixture
def _clumsy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_HANDLERS", dict(registry._HANDLERS))
    monkeypatch.setattr("readers.identification.identify._REGISTERED", dict(_REGISTERED))
    registry.register([_Clumsy()])
    register_magic({b"CLUMSY": "application/x-clumsy"})


@pytest.mark.usefixtures("_clumsy")
@pytest.mark.parametrize(
    ("where", "code", "count"),
    [
        (b"children", "handler_error", (None, 1, 1, True)),
        (b"children known", "handler_error", (3, 1, 2, False)),
        (b"announced", "handler_error", (None, 0, 1, True)),
        (b"memory", "memory", (None, 1, 1, True)),
        (b"deep", "nesting_limit", (None, 1, 1, True)),
        (b"error", "corrupt", (None, 1, 2, False)),
    ],
)
def test_an_unforeseen_error_in_a_handler(where: bytes, code: str, count: tuple[int | None, int, int, bool]) -> None:
    """A parser's bug is its document's exception: what it gave before stays, and the rest of the file is read."""
    found = unpack(b"c.zip", make_zip({"a.clumsy": b"CLUMSY " + where, "z.txt": b"z"}))
    assert found.codes("c.zip", "a.clumsy") == [code]
    assert found.count("c.zip", "a.clumsy") == count
    assert ("c.zip", "z.txt") in found.by_path
    if code == "handler_error":
        assert any("KeyError" in e.detail or "IndexError" in e.detail for e in found.out.exceptions)


def test_an_encrypted_member_is_failed_and_told_once() -> None:
    data = bytearray(make_zip({"a.txt": b"a", "b.txt": b"b", "c.txt": b"c"}, stored=True))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        where = -1
        for _ in range(2):  # the flag of the first two members
            where = data.index(signature, where + 1)
            data[where + at] |= 1
    found = unpack(b"e.zip", bytes(data))
    (only,) = found.out.exceptions
    assert (only.code, only.missing, only.level.value) == (ExceptionCode.ENCRYPTED, 2, "node")
    assert found.count("e.zip") == (3, 1, 2, False)
