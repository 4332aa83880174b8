"""Tables of dBase, Clipper and FoxPro (.dbf), and the memos in a file next to them (.dbt, .fpt)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from readers import clean
from readers.base import Handler, LeafHandler, Source, Text
from readers.charset import CHARSET_KEYS, CharsetSource, Detected, decode, of_code_page
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode, FieldUnread
from readers.records import Limits
from readers.tables.dbase import memo as dbase_memo
from readers.tables.dbase.table import Table, table_of

_MOST_HEADER = 1 << 17  # 2,048 fields, and what Visual FoxPro and dBase 7 put behind them
_RECORDS_BYTES = 1 << 18  # read at once
_MOST_BEHIND = 1 << 20  # bytes after the last record that are counted
_FILLING = b"\x1a\0\r\n "
_SAMPLE_BYTES = 1 << 16  # of characters, from which the charset is detected
_MARKS = b" *"  # before each record: there, and deleted


class TableHandler(LeafHandler):
    """A table of any size, a record at a time."""

    name = "dbase"
    media_types: tuple[str, ...] = ("application/x-dbf",)
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Tables of dBase, Clipper and FoxPro",
            extensions=("dbf",),
            text="the names of the columns, then a line for each record with tabs between its values, deleted ones too",
            metadata=(*CHARSET_KEYS, "rows", "columns"),
            leaves_out=(
                "memos, which are in the file next to it (.dbt, .fpt) and become the text of that file",
                "times of dBase 7, pictures, objects, and numbers that are written as bytes in variable lengths",
                "which records are marked as deleted",
            ),
        ),
    )

    def text(self, source: Source, limits: Limits) -> Text:
        """The table; `charset`, `rows` (existing records) and `columns` as metadata. `truncated` as well as the text
        where there are fewer records than the header announces."""
        collector = clean.Collector(limits.text_characters)
        with source.open() as file:
            table = table_of(file.read(_MOST_HEADER))
            layout = table.layout
            if layout.size > table.record_length:
                raise DocumentError(ExceptionCode.CORRUPT, "the fields of the table are longer than its records")
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
        out = collector.read_in(detected)
        out.metadata |= {"rows": rows, "columns": len(shown)}
        if shown and rows < table.records and not collector.cut:
            out.error = DocumentError(ExceptionCode.TRUNCATED, f"{rows} of {table.records} records are there")
        elif shown and not collector.cut and behind:
            out.error = FieldUnread(ExceptionCode.CORRUPT, f"{behind:,} bytes after the last record were not read")
        return out


def _records(table: Table, file: BinaryIO) -> Iterator[bytes]:
    """Every record with its mark; those behind the announced ones too while they are marked as records are, because
    the number in the header is only written when a program ends well."""
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
    """UTF-8 where that is what the characters are (it has no language driver); else the driver's, else a guess."""
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
    if detected.charset.startswith(("utf-16", "utf-32")):  # fields are of bytes, not of units
        return Detected("cp1252", CharsetSource.DEFAULT, 0, guessed=True)
    return detected


class MemoHandler(LeafHandler):
    """The texts of a table's memo fields."""

    name = "dbase memo"
    media_types: tuple[str, ...] = ("application/x-dbt", "application/x-fpt")
    declared: tuple[Declared, ...] = (
        Declared(
            title="Memos of dBase and FoxPro tables",
            extensions=("dbt", "fpt"),
            text="the memos in order, deleted ones that were not overwritten too",
            metadata=CHARSET_KEYS,
            leaves_out=("which record a memo belongs to", "pictures and objects among them"),
        ),
    )

    def text(self, source: Source, limits: Limits) -> Text:
        """All memos in the charset that they are likely to be in: the table knows it, this file does not."""
        memos = b"\n".join(dbase_memo.texts(source.whole(limits.parse_bytes)))
        text, detected = decode(memos)
        collector = clean.Collector(limits.text_characters)
        collector.add(text)
        return collector.read_in(detected)


HANDLERS: tuple[Handler, ...] = (TableHandler(), MemoHandler())
