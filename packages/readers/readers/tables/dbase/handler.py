"""Tables of dBase, Clipper and FoxPro (.dbf), and the memos in a separate file (.dbt, .fpt)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from readers import clean
from readers.base import Declared, LeafHandler, Source, Text
from readers.charset import CHARSET_KEYS, CharsetSource, Detected, decode, of_code_page
from readers.errors import ExceptionCode, FieldUnread, corrupt, truncated
from readers.records import Limits
from readers.tables.dbase.table import Table, table_of

# Memo files of dBase III and IV (.dbt) and of FoxPro (.fpt): the texts in them.

_DBASE_BLOCK = 512
_IV_MEMO = b"\xff\xff\x08\x00"
_FOXPRO_TEXT = b"\0\0\0\x01"
_HEAD = 8  # of a memo of dBase IV and FoxPro: its type and its length
_NOT_IN_TEXT = bytes(c for c in range(32) if c not in b"\t\n\f\r")


def texts(data: bytes) -> Iterator[bytes]:
    """Yield the memos in order, without the control characters of formatted ones."""
    memos = _dbase_4(data) if _IV_MEMO in data[: 1 << 16] else _foxpro(data) if is_foxpro(data) else _dbase_3(data)
    for memo in memos:
        # Soft line ends of dBase's editor are 0x8D 0x0A.
        if text := memo.replace(b"\x8d\n", b"\n").translate(None, _NOT_IN_TEXT).strip():
            yield text


def is_foxpro(head: bytes) -> bool:
    """Return whether a FoxPro memo file begins so: the first memo's type and length follow the header."""
    if len(head) < _DBASE_BLOCK + _HEAD:
        return False
    block = int.from_bytes(head[6:8], "big")
    at = _first(block)
    kind, length = head[at : at + 4], int.from_bytes(head[at + 4 : at + _HEAD], "big")
    return block > 0 and kind in (b"\0\0\0\0", _FOXPRO_TEXT, b"\0\0\0\2") and 0 < length < 1 << 31


def _first(block: int) -> int:
    """Return the start of the first block after the header."""
    return -(-_DBASE_BLOCK // block) * block if block else _DBASE_BLOCK


def _foxpro(data: bytes) -> Iterator[bytes]:
    block = int.from_bytes(data[6:8], "big")
    at = data.find(_FOXPRO_TEXT, _first(block))
    while at >= 0:
        length = int.from_bytes(data[at + 4 : at + _HEAD], "big")
        end = at + _HEAD + length
        if at % block or not length or end > len(data):
            at = data.find(_FOXPRO_TEXT, at + 1)
            continue
        yield data[at + _HEAD : end]
        at = data.find(_FOXPRO_TEXT, end)


def _dbase_4(data: bytes) -> Iterator[bytes]:
    at = data.find(_IV_MEMO)
    while at >= 0:
        length = int.from_bytes(data[at + 4 : at + _HEAD], "little")  # these eight bytes too
        end = at + max(length, _HEAD)
        if end > len(data):
            end = at + _HEAD
        else:
            yield data[at + _HEAD : end].split(b"\x1a", 1)[0]
        at = data.find(_IV_MEMO, end)


def _dbase_3(data: bytes) -> Iterator[bytes]:
    """Yield memos: each begins a block and ends with 0x1A; anything after that in its last block is older."""
    at = _DBASE_BLOCK
    while at < len(data):
        end = data.find(b"\x1a", at)
        if end < 0:
            end = len(data)
        yield data[at:end].rstrip(b"\0")
        at = (end // _DBASE_BLOCK + 1) * _DBASE_BLOCK


_MOST_HEADER = 1 << 17  # 2,048 fields, and the data of Visual FoxPro and dBase 7 after them
_RECORDS_BYTES = 1 << 18  # read at once
_MOST_BEHIND = 1 << 20  # bytes after the last record that are counted
_FILLING = b"\x1a\0\r\n "
_SAMPLE_BYTES = 1 << 16  # of text, from which the charset is detected
_MARKS = b" *"  # before each record: present, and deleted


class TableHandler(LeafHandler):
    """A table of any size, read a record at a time."""

    name = "dbase"
    media_types: tuple[str, ...] = ("application/x-dbf",)
    whole = False
    declared = Declared(
        title="Tables of dBase, Clipper and FoxPro",
        extensions=("dbf",),
        text="the names of the columns, then a line for each record with tabs between its values, including deleted "
        "records",
        metadata=(*CHARSET_KEYS, "rows", "columns"),
        leaves_out=(
            "memos, which are in the file next to it (.dbt, .fpt) and become the text of that file",
            "times of dBase 7, pictures, objects, and numbers stored as bytes of variable length",
            "which records are marked as deleted",
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the table; `charset`, `rows` (existing records) and `columns` as metadata. `truncated` in addition to
        the text if there are fewer records than the header announces."""
        collector = clean.Collector(limits.text_characters)
        with source.open() as file:
            table = table_of(file.read(_MOST_HEADER))
            layout = table.layout
            if layout.size > table.record_length:
                raise corrupt("the fields of the table are longer than its records")
            detected = _charset(table, file)
            codec = detected.charset
            shown = table.shown(codec)
            names = [table.fields[i].name.decode(codec, "replace") for i, _ in shown]
            collector.add("\t".join(names) + "\n")
            rows = 0
            for record in _records(table, file) if shown else ():
                rows += 1
                raw = layout.unpack_from(record)
                values = [read(raw[i]) for i, read in shown]
                if any(values) and not collector.add("\t".join(values) + "\n"):
                    break
            file.seek(table.start + rows * table.record_length)
            behind = len(file.read(_MOST_BEHIND).strip(_FILLING))
        out = collector.result(detected=detected)
        out.metadata |= {"rows": rows, "columns": len(shown)}
        if shown and rows < table.records and not collector.cut:
            out.error = truncated(f"only {rows} of {table.records} records were found")
        elif shown and not collector.cut and behind:
            out.error = FieldUnread(ExceptionCode.CORRUPT, f"{behind:,} bytes after the last record were not read")
        return out


def _records(table: Table, file: BinaryIO) -> Iterator[bytes]:
    """Yield every record with its mark, beyond the announced ones too while they are marked as records, because the
    number in the header is only written when a program ends properly."""
    file.seek(table.start)
    announced = table.records
    at_once = max(1, _RECORDS_BYTES // table.record_length) * table.record_length
    while data := file.read(at_once):
        for at in range(0, len(data), table.record_length):
            record = data[at : at + table.record_length]
            announced -= 1
            if len(record) < table.record_length or (announced < 0 and record[0] not in _MARKS):
                return
            yield record


def _charset(table: Table, file: BinaryIO) -> Detected:
    """Return UTF-8 if the characters are that (it has no language driver); else the driver's charset, else a guess."""
    sample = bytearray()
    wanted, layout = table.text_fields(), table.layout
    for record in _records(table, file) if wanted else ():
        values = layout.unpack_from(record)
        for i in wanted:
            sample += values[i].rstrip(b" \0") + b"\n"
        if len(sample) > _SAMPLE_BYTES:
            break
    text, detected = decode(bytes(sample))
    if detected.charset == "utf-8" and not text.isascii() and "\ufffd" not in text:
        return detected
    if table.codec:
        return of_code_page(bytes(sample), table.codec)
    if detected.charset.startswith(("utf-16", "utf-32")):  # fields are bytes, not code units
        return Detected("cp1252", CharsetSource.DEFAULT, 0, guessed=True)
    return detected


class MemoHandler(LeafHandler):
    """The texts of a table's memo fields."""

    name = "dbase memo"
    media_types: tuple[str, ...] = ("application/x-dbt", "application/x-fpt")
    declared = Declared(
        title="Memos of dBase and FoxPro tables",
        extensions=("dbt", "fpt"),
        text="the memos in order, including deleted ones that were not overwritten",
        metadata=CHARSET_KEYS,
        leaves_out=("which record a memo belongs to", "pictures and objects among them"),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return all memos in their likely charset: the table declares it, this file does not."""
        memos = b"\n".join(texts(source.whole(limits.parse_bytes)))
        text, detected = decode(memos)
        collector = clean.Collector(limits.text_characters)
        collector.add(text)
        return collector.result(detected=detected)
