"""What three readers see in a PST: libpff, Debian's readpst, and the strict reader of these tests."""

import email
import email.policy
import os
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any, BinaryIO

import pypff
from debian_programs import program
from pst_layout import Layout, Node
from pst_tables import Tree, properties, table

from readers.mail_form import Address, MailAttachment, MailForm, write_message

ROOT, STORE, NAMES, IPM = 0x122, 0x21, 0x61, 0x8022
FOLDERS, CONTENTS, ASSOCIATED, RECIPIENTS, ATTACHMENTS = 0x0D, 0x0E, 0x0F, 0x692, 0x671


@dataclass(frozen=True)
class Seen:
    """One message; texts with LF."""

    folders: tuple[str, ...]
    subject: str
    message_id: str
    sent: int | None
    sender: tuple[str, str] | None
    recipients: tuple[tuple[int, str, str], ...]
    plain: str | None
    html: str | None
    in_reply_to: str
    references: str
    attachments: tuple[Any, ...]  # (name, media type, content id, bytes), or a Seen


def expected(folders: tuple[str, ...], form: MailForm) -> Seen:
    """The same of what was written."""
    groups = (1, form.to), (2, form.cc), (3, form.bcc)
    return Seen(
        folders=folders,
        subject=form.subject,
        message_id=f"<{form.message_id}>" if form.message_id else "",
        sent=form.sent,
        sender=None if form.sender is None else (form.sender[0] or form.sender[1], form.sender[1]),
        recipients=tuple((kind, name or address, address) for kind, group in groups for name, address in group),
        plain=form.plain,
        html=form.html,
        in_reply_to=f"<{form.in_reply_to}>" if form.in_reply_to else "",
        references=" ".join(f"<{reference}>" for reference in form.references),
        attachments=tuple(map(_expected, form.attachments)),
    )


def _expected(one: MailAttachment) -> Any:
    if one.message is not None:
        return expected((), one.message)
    return one.name, one.media_type, one.content_id, one.data or b""


def canonical(seen: Seen) -> bytes:
    """The message in canonical form."""
    return write_message(_form(seen))


def _form(seen: Seen) -> MailForm:
    def group(kind: int) -> tuple[Address, ...]:
        return tuple((name, address) for found, name, address in seen.recipients if found == kind)

    return MailForm(
        message_id=seen.message_id.strip("<>"),
        sent=seen.sent,
        sender=seen.sender,
        to=group(1),
        cc=group(2),
        bcc=group(3),
        subject=seen.subject,
        in_reply_to=seen.in_reply_to.strip("<>"),
        references=tuple(reference.strip("<>") for reference in seen.references.split()),
        plain=seen.plain,
        html=seen.html,
        attachments=tuple(
            MailAttachment(name="", message=_form(one))
            if isinstance(one, Seen)
            else MailAttachment(name=one[0], media_type=one[1], content_id=one[2], data=one[3])
            for one in seen.attachments
        ),
    )


def _seen(folders: tuple[str, ...], own: dict[int, Any], people: Any, attachments: Any) -> Seen:
    subject = own.get(0x0037001F, "")
    sent, plain, html = own.get(0x00390040), own.get(0x1000001F), own.get(0x10130102)
    name, address = own.get(0x0C1A001F), own.get(0x0C1F001F, "")
    return Seen(
        folders=folders,
        subject=subject[2:] if subject[:1] == "\x01" else subject,
        message_id=own.get(0x1035001F, ""),
        sent=None if sent is None else sent // 10_000_000 - 11_644_473_600,
        sender=None if name is None else (name, address),
        recipients=people,
        plain=None if plain is None else plain.replace("\r\n", "\n"),
        html=None if html is None else html.decode().replace("\r\n", "\n"),
        in_reply_to=own.get(0x1042001F, ""),
        references=own.get(0x1039001F, ""),
        attachments=attachments,
    )


def _file(own: dict[int, Any], data: bytes) -> tuple[str, str, str, bytes]:
    return own.get(0x3707001F, ""), own.get(0x370E001F, ""), own.get(0x3712001F, ""), data


class Strict:
    """The strict reader; making one checks the whole file, and that each block is used as often as it is counted."""

    def __init__(self, file: BinaryIO) -> None:
        self.layout = layout = Layout(file)
        layout.check_allocation()
        layout.page(0x4200, 0x86)
        self._used: Counter[int] = Counter()
        for node in layout.nodes.values():
            self._count(node)
        assert {b.bid: b.references - 1 for b in layout.blocks.values()} == self._used
        self.store = properties(self._tree(STORE))
        self.names = properties(self._tree(NAMES))

    def _tree(self, nid: int) -> Tree:
        return Tree(self.layout, self.layout.nodes[nid])

    def _count(self, node: Node) -> None:
        waiting = [node.data, node.sub]
        while waiting:
            bid = waiting.pop()
            if not bid:
                continue
            self._used[bid] += 1
            raw = self.layout.raw(bid)
            if self._used[bid] > 1 or not bid & 2:
                continue
            kind, level, count = struct.unpack_from("<BBH", raw)
            ids = struct.unpack_from(f"<{count * (1 if kind == 1 else 2 if level else 3)}Q", raw, 8)
            waiting += ids if kind == 1 else ids[1::2] if level else [b for i, b in enumerate(ids) if i % 3]

    def messages(self) -> Iterator[Seen]:
        """All in order of folders, depth first."""
        yield from self._folder(ROOT, ())

    def folders(self) -> dict[int, dict[int, Any]]:
        """Properties by number."""
        return {nid: properties(self._tree(nid)) for nid in self.layout.nodes if nid & 0x1F == 2}

    def _folder(self, nid: int, path: tuple[str, ...]) -> Iterator[Seen]:
        own = properties(self._tree(nid))
        contents, below = table(self._tree(nid & ~0x1F | CONTENTS)), table(self._tree(nid & ~0x1F | FOLDERS))
        assert table(self._tree(nid & ~0x1F | ASSOCIATED)).rows == []
        assert own[0x36020003] == len(contents.rows)
        assert own[0x360A000B] is bool(below.rows)
        for row in contents.rows:
            node = self.layout.nodes[row[0x67F20003]]
            assert node.parent == nid
            full = properties(Tree(self.layout, node))
            for tag, value in row.items():
                assert value not in ("", b""), "Microsoft's reader stops at a cell that is there and points to nothing"
                assert tag >> 16 in (0x67F2, 0x67F3) or full[tag] == value, f"{tag:#x} in the table of contents"
            yield self.message(Tree(self.layout, node), path)
        for row in below.rows:
            child = row[0x67F20003]
            assert self.layout.nodes[child].parent == nid
            if child & 0x1F == 2:
                name = properties(self._tree(child))[0x3001001F]
                assert name == row[0x3001001F]
                yield from self._folder(child, () if child == IPM else (*path, name))

    def message(self, tree: Tree, path: tuple[str, ...]) -> Seen:
        """One message and all in it."""
        inside = tree.subnodes()
        people = tuple(
            (row[0x0C150003], row[0x3001001F], row.get(0x3003001F, "")) for row in table(tree.sub(RECIPIENTS)).rows
        )
        own = properties(tree)
        rows = table(tree.sub(ATTACHMENTS)).rows if ATTACHMENTS in inside else []
        assert bool(own[0x0E070003] & 0x10) is bool(rows)
        return _seen(path, own, people, tuple(self._attachment(tree.sub(row[0x67F20003]), row) for row in rows))

    def _attachment(self, tree: Tree, row: dict[int, Any]) -> Any:
        own = properties(tree)
        assert all(own[tag] == value for tag, value in row.items() if tag >> 16 not in (0x67F2, 0x67F3))
        if own[0x37050003] == 5:
            return self.message(tree.sub(own[0x3701000D][0]), ())
        assert own[0x0E200003] == len(own[0x37010102])
        return _file(own, own[0x37010102])


def by_libpff(path: Path) -> list[Seen]:
    """As libpff sees it; its Python interface does not open messages inside messages: these are None."""
    file = pypff.file()
    file.open(str(path))
    assert file.number_of_orphan_items == 0

    def below(folder: Any, path: tuple[str, ...]) -> Iterator[Seen]:
        for message in folder.sub_messages:
            yield _libpff_message(message, path)
        for child in folder.sub_folders:
            yield from below(child, () if child.identifier == IPM else (*path, child.name or ""))

    found = list(below(file.root_folder, ()))
    file.close()
    return found


def _libpff_values(item: Any, record_set: int = 0) -> dict[int, Any]:
    out: dict[int, Any] = {}
    for entry in item.get_record_set(record_set).entries:
        kind = entry.value_type
        data = entry.data
        if kind == 0x1F:
            value: Any = (data or b"").decode("utf-16-le").removesuffix("\0")
        elif kind in (0x03, 0x40):
            value = int.from_bytes(data, "little", signed=True)
        else:
            value = data or b""
        out[entry.entry_type << 16 | kind] = value
    return out


def _libpff_message(message: Any, path: tuple[str, ...]) -> Seen:
    recipients = message.recipients
    rows = [_libpff_values(recipients, i) for i in range(recipients.number_of_record_sets)] if recipients else []
    people = tuple((row[0x0C150003], row[0x3001001F], row.get(0x3003001F, "")) for row in rows)
    attachments = []
    for number in range(message.number_of_attachments):
        attachment = message.get_attachment(number)
        own = _libpff_values(attachment)
        if own[0x37050003] == 5:
            attachments.append(None)
        else:
            size = attachment.size
            attachments.append(_file(own, attachment.read_buffer(size) if size else b""))
    return _seen(path, _libpff_values(message), people, tuple(attachments))


def by_readpst(path: Path, out: Path) -> list[tuple[tuple[str, ...], EmailMessage]]:
    """(folders, message) of all messages, folders in order of names, messages in that of the store."""
    out.mkdir()
    readpst = program("readpst", "pst-utils")
    subprocess.run([readpst, "-e", "-j", "0", "-8", "-q", "-o", str(out), str(path)], check=True, timeout=300)
    found = []
    for directory, _, names in sorted(os.walk(out)):
        for name in sorted(names, key=lambda n: int(n.partition(".")[0])):
            parsed = email.message_from_bytes((Path(directory) / name).read_bytes(), policy=email.policy.default)
            assert isinstance(parsed, EmailMessage)
            found.append((Path(directory).relative_to(out).parts[1:], parsed))
    return found
