"""The manifest against independent readers: every row is derived again from the files on disk."""

import gzip
import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pypdfium2
import pytest
from agreement import EXPECTED
from item_readers import OOXML, children_of, text_of
from PIL import Image

from dataset_gen.faults import FILES, HOSTILE_NAMES
from dataset_gen.profile import load_profile
from dataset_gen.truth import manifest as m

# Where a fault, by design, keeps children from being read; the reader below does not know about limits.
READABLE = {
    *("deep_nesting", "hostile_names", "docx_as_pdf", "jpg_as_txt", "exe_as_doc", "headless_eml"),
    *("deep_html", "wide_html", "deep_xml", "entity_xml"),
}
UNREADABLE = set(FILES) - READABLE


@dataclass
class Corpus:
    """A corpus and its rows."""

    data: Path
    rows: list[dict[str, Any]]
    description: dict[str, Any]


@pytest.fixture(scope="module")
def corpus(finished_corpus: Path) -> Corpus:
    """A small corpus with a fault of every kind."""
    rows = m.read_manifest(finished_corpus).to_pylist()
    return Corpus(finished_corpus / "data", rows, json.loads((finished_corpus / "dataset.json").read_text()))


def _check(corpus: Corpus, below: dict[int, list[int]], at: int, data: bytes | None, seen: list[int]) -> None:
    row = corpus.rows[at]
    seen.append(at)
    if data is None:  # a message inside an Outlook file, see test_dataset_gen_outlook
        seen.extend(_all_below(below, at))
        return
    assert (len(data), hashlib.sha256(data).digest()) == (row[m.BYTES], row[m.SHA256]), row[m.CONTAINER_PATH]
    if row[m.FAULT] in UNREADABLE:
        if row[m.FAULT] == "truncated_zip":
            _check_salvage(corpus, below, at, data, seen)
        else:
            seen.extend(_all_below(below, at))
        return
    if row[m.TERMS]:
        text = " ".join(text_of(row[m.MEDIA_TYPE], data).split())
        assert all(term in text for term in row[m.TERMS]), row[m.CONTAINER_PATH]
    if row[m.EXCEPTIONS] == ["nesting_limit"]:
        assert row[m.DEPTH] == 16
        assert at not in below
        return
    found = list(children_of(row[m.MEDIA_TYPE], data))
    rows = [corpus.rows[child] for child in below.get(at, [])]
    if row[m.FAULT] == "hostile_names":
        assert [r[m.NAME] for r in rows] == list(HOSTILE_NAMES)
    else:
        assert [(name, ordinal) for name, ordinal, _ in found] == [(r[m.NAME], r[m.ORDINAL]) for r in rows]
    if row[m.ANNOUNCED] is not None:
        assert (row[m.ANNOUNCED], row[m.FAILED]) == (len(found), 0)
    for child, (_, _, content) in zip(below.get(at, []), found, strict=True):
        _check(corpus, below, child, content, seen)


def _all_below(below: dict[int, list[int]], at: int) -> Iterator[int]:
    for child in below.get(at, ()):
        yield child
        yield from _all_below(below, child)


def _check_salvage(corpus: Corpus, below: dict[int, list[int]], at: int, data: bytes, seen: list[int]) -> None:
    """Whole members from their local headers."""
    offset = 0
    for child in below[at]:
        row = corpus.rows[child]
        assert data[offset : offset + 4] == b"PK\3\4"
        name_size = int.from_bytes(data[offset + 26 : offset + 28], "little")
        packed = int.from_bytes(data[offset + 18 : offset + 22], "little")
        start = offset + 30 + name_size
        assert data[offset + 30 : start] == row[m.NAME]
        content = data[start : start + packed]
        assert len(content) == packed
        if int.from_bytes(data[offset + 8 : offset + 10], "little") == 8:
            content = gzip.zlib.decompress(content, -15)  # type: ignore[attr-defined]
        _check(corpus, below, child, content, seen)
        offset = start + packed
    packed = int.from_bytes(data[offset + 18 : offset + 22], "little")
    assert len(data) < offset + 30 + packed  # the next one is cut


def test_every_row_is_derived_again_from_disk(corpus: Corpus) -> None:
    below: dict[int, list[int]] = {}
    for at, row in enumerate(corpus.rows):
        if row[m.PARENT] >= 0:
            below.setdefault(row[m.PARENT], []).append(at)
    seen: list[int] = []
    for at, row in enumerate(corpus.rows):
        if row[m.DEPTH] == 0:
            _check(corpus, below, at, (corpus.data / Path(_native(row[m.ORDINAL]))).read_bytes(), seen)
    assert sorted(seen) == list(range(len(corpus.rows)))


def _native(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def test_loose_files_are_exactly_those_of_the_manifest(corpus: Corpus) -> None:
    on_disk = {bytes(f.relative_to(corpus.data)) for f in corpus.data.rglob("*") if f.is_file()}
    assert on_disk == {r[m.ORDINAL] for r in corpus.rows if r[m.DEPTH] == 0}
    assert {f.name for f in corpus.data.iterdir()} == {r[m.CUSTODIAN] for r in corpus.rows}
    assert len({r[m.CUSTODIAN] for r in corpus.rows}) == 9


def test_relations_are_consistent(corpus: Corpus) -> None:
    hashes = Counter(r[m.SHA256] for r in corpus.rows if r[m.BYTES])
    for at, row in enumerate(corpus.rows):
        parent = corpus.rows[row[m.PARENT]] if row[m.PARENT] >= 0 else None
        assert row[m.DEPTH] == (parent[m.DEPTH] + 1 if parent else 0)
        assert row[m.CONTAINER_PATH][:-1] == (parent[m.CONTAINER_PATH] if parent else [])
        above = parent[m.FAMILY] if parent else -1
        assert row[m.FAMILY] == (above if above >= 0 else -1 if row[m.CONTAINER] else at)
        if row[m.BYTES]:
            assert (row[m.DUPLICATE_GROUP] is not None) == (hashes[row[m.SHA256]] > 1)
        if row[m.DUPLICATE_GROUP] is not None:
            assert corpus.rows[row[m.DUPLICATE_GROUP]][m.SHA256] == row[m.SHA256]


def test_every_kind_of_fault_with_its_exception(corpus: Corpus) -> None:
    codes: dict[str, set[str]] = {}
    for row in corpus.rows:
        if row[m.FAULT]:
            codes.setdefault(row[m.FAULT], set()).update(row[m.EXCEPTIONS])
    kinds = load_profile("reference").faults
    # These follow from an item's place and name, but for multiparts in multiparts, which are one item.
    placed = {"nesting_limit", "unsafe_name"}
    assert codes == {kind: EXPECTED[kind] - (set() if kind == "nested_multiparts" else placed) for kind in kinds}
    everything = Counter(code for row in corpus.rows for code in row[m.EXCEPTIONS])
    assert everything["nesting_limit"] >= 1
    assert everything["unsafe_name"] >= 6


def test_faults_are_faulty(corpus: Corpus) -> None:
    """Independent readers refuse the faulty files for the reason stated."""
    for row in corpus.rows:
        if row[m.DEPTH] or row[m.FAULT] not in UNREADABLE:
            continue
        data = (corpus.data / Path(_native(row[m.ORDINAL]))).read_bytes()
        if row[m.FAULT] == "encrypted_pdf":
            with pytest.raises(pypdfium2.PdfiumError):
                pypdfium2.PdfDocument(data)
            assert len(pypdfium2.PdfDocument(data, password="edbench")) == 2
        elif row[m.FAULT] == "truncated_zip":
            with pytest.raises(zipfile.BadZipFile):
                zipfile.ZipFile(io.BytesIO(data))
        elif row[m.FAULT] == "corrupt_docx":
            with zipfile.ZipFile(io.BytesIO(data)) as archive, pytest.raises((zipfile.BadZipFile, gzip.zlib.error)):  # type: ignore[attr-defined]
                archive.read("word/document.xml")
        elif row[m.FAULT] == "encrypted_zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                assert len(archive.namelist()) == row[m.ANNOUNCED] == row[m.FAILED]
                with pytest.raises(RuntimeError, match="encrypted"):
                    archive.read(archive.namelist()[0])
                archive.setpassword(b"edbench")
                assert archive.testzip() is None
        elif row[m.FAULT] == "zip_bomb":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                unpacked = sum(info.file_size for info in archive.infolist())
            assert unpacked > max(100 * len(data), 32_000_000)


def test_pictures_and_pages(corpus: Corpus) -> None:
    formats = Counter()
    for row in corpus.rows:
        if row[m.DEPTH] or row[m.FAULT] in UNREADABLE:
            continue
        file = corpus.data / Path(_native(row[m.ORDINAL]))
        if row[m.MEDIA_TYPE].startswith("image/") and row[m.MEDIA_TYPE] != "image/svg+xml":
            with Image.open(file) as picture:
                assert row[m.PAGES] in (None, getattr(picture, "n_frames", 1))
                picture.load()
                formats[picture.format] += 1
        elif row[m.PAGES] is not None and row[m.MEDIA_TYPE] == "application/pdf":
            document = pypdfium2.PdfDocument(file.read_bytes())
            assert len(document) == row[m.PAGES]
            document[0].render(scale=0.1)
    assert set(formats) >= {"JPEG", "PNG", "GIF", "TIFF"}


def test_terms_are_planted_in_every_format_and_depth(corpus: Corpus) -> None:
    planted = [r for r in corpus.rows if r[m.TERMS]]
    depths = {r[m.DEPTH] for r in planted}
    assert set(range(16)) <= depths
    types = {r[m.MEDIA_TYPE] for r in planted}
    assert {"message/rfc822", "text/plain", "text/html", "text/csv", "application/pdf"} <= types
    assert len([t for t in types if t.startswith(OOXML)]) == 3


def test_description_adds_up(corpus: Corpus) -> None:
    shown = corpus.description
    assert shown["items"] == len(corpus.rows)
    assert shown["raw_bytes"] == sum(r[m.BYTES] for r in corpus.rows if r[m.DEPTH] == 0)
    assert shown["discovered_bytes"] == sum(r[m.BYTES] for r in corpus.rows)
    assert shown["raw_bytes"] == pytest.approx(45e9 * 0.0005, rel=0.15)


def test_names_and_times(corpus: Corpus) -> None:
    names = [r[m.NAME] for r in corpus.rows if r[m.DEPTH] == 0]
    assert any(b" " in n for n in names)
    assert any(not n.isascii() for n in names)
    assert any(len(n) > 90 for n in names)
    assert any(n.decode("utf-8", "replace").encode() != n for n in names)
    times = [f.stat().st_mtime for f in corpus.data.rglob("*") if f.is_file()]
    assert max(times) - min(times) > 4 * 365 * 86_400
    assert max(times) < 1_720_000_000


def test_reading_something_else_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "x.parquet"
    other.write_bytes(b"no parquet")
    with pytest.raises(m.UsageError, match="is not a readable manifest"):
        m.read_manifest(other)
    pa.parquet.write_table(pa.table({"a": [1]}), other)
    with pytest.raises(m.UsageError, match="no column"):
        m.read_manifest(other)
