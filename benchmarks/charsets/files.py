"""Files whose charset others tell: `make bench-charsets BENCH_ARGS="--files DIR"`, where each folder of DIR has a charset's name.

Detectors come with such collections, which nobody chose for ours. Of each file the lines that are not ASCII are taken, whole and cut to
a few lengths, and read as text, in a web page and in a message that say no charset, by the readers that `edbench inspect` runs.
"""

from __future__ import annotations

import html
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.formats.ours import lines_of
from readers.charset_labels import by_label

LENGTHS = (20, 50, 200, 2_000)  # bytes; 0 stands for all of it
_WHOLE = 100_000  # bytes: what a message may hold and be read fast
CARRIERS = ("txt", "html", "eml")
_TAGS = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text of a file, which a carrier holds in the file's charset."""

    name: str  # of the file
    label: str  # what the folder calls the charset
    length: int  # bytes, at most; 0: as many as there are
    carrier: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a piece."""

    piece: Piece
    right: bool
    state: str
    charset: str


def readings(folder: Path) -> tuple[list[Reading], list[str]]:
    """What our readers make of all pieces; and the files of which no piece was made, since the charset does not take them."""
    left_out: list[str] = []
    pieces: dict[str, Piece] = {}
    with tempfile.TemporaryDirectory(prefix="edbench-charsets-") as scratch:
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            made = list(_pieces(path))
            if not made:
                left_out.append(f"{path.parent.name}/{path.name}")
            for piece, data in made:
                name = f"{len(pieces):06}.{piece.carrier}"
                pieces[name] = piece
                (Path(scratch) / name).write_bytes(data)
        lines = [line for line in lines_of(Path(scratch)) if len(line["container_path"]) == 1]
    return [_reading(pieces[line["container_path"][0]], line) for line in lines], left_out


def _pieces(path: Path) -> Iterator[tuple[Piece, bytes]]:
    """Of one file, with the bytes of each carrier."""
    label = path.parent.name
    codec = by_label(label)
    try:
        text = path.read_bytes().decode(codec)
    except (LookupError, UnicodeDecodeError):
        return
    lines = (html.unescape(_TAGS.sub(" ", line)).strip() for line in text.lstrip("\ufeff").splitlines())
    odd = "\n".join(line for line in lines if line and not line.isascii())
    fit = odd.encode(codec, "ignore").decode(codec)
    for length in (*LENGTHS, 0):
        cut = fit.encode(codec)[: length or _WHOLE].decode(codec, "ignore").strip()
        data = cut.encode(codec)
        if not cut or cut.isascii() or len(data) < length * 0.8:
            continue
        for carrier in CARRIERS:
            if carrier == "txt" or not codec.startswith(("utf-16", "utf-32")):
                yield Piece(path.name, label, length, carrier, cut), _carried(carrier, cut, codec)


def _carried(carrier: str, text: str, codec: str) -> bytes:
    if carrier == "html":
        return f"<html><body><p>{html.escape(text, quote=False)}</p></body></html>\n".encode(codec)
    head = b"From: a@example.org\nTo: b@example.org\nSubject: news\n\n" if carrier == "eml" else b""
    return head + text.encode(codec)


def _reading(piece: Piece, line: dict[str, object]) -> Reading:
    metadata = line["metadata"] if isinstance(line["metadata"], dict) else {}
    right = _bare(piece.text) in _bare(str(line["text"]))
    return Reading(piece, right, str(line["text_state"]), str(metadata.get("charset", "")))


def _bare(text: str) -> str:
    """Without white space, which readers of pages and messages set as they like."""
    return "".join(text.split())


def report(read: list[Reading], left_out: list[str]) -> Iterator[str]:
    """Tables in Markdown, by length and carrier, and by charset."""
    files = {(one.piece.label, one.piece.name) for one in read}
    yield f"{len(files):,} files, {len(read):,} pieces; {len(left_out)} files are not in what their folder says, or are ASCII"
    yield from ("", "| bytes | in | pieces | right | guessed | wrong and ok |", "|---|---|---|---|---|---|")
    for length in (*LENGTHS, 0):
        for carrier in CARRIERS:
            some = [one for one in read if (one.piece.length, one.piece.carrier) == (length, carrier)]
            yield f"| {length or 'all'} | {carrier} | {_counted(some)} |"
    yield from ("", "| charset | pieces | right | guessed | wrong and ok | taken for |", "|---|---|---|---|---|---|")
    by_label_: defaultdict[str, list[Reading]] = defaultdict(list)
    for one in read:
        by_label_[one.piece.label].append(one)
    for label, some in sorted(by_label_.items()):
        taken = Counter(one.charset or "?" for one in some if silent(one))
        shown = ", ".join(f"{name} ×{count}" for name, count in taken.most_common(4))
        yield f"| {label} | {_counted(some)} | {shown} |"


def silent(one: Reading) -> bool:
    """Whether it is wrong, and nothing says so."""
    return not one.right and one.state == "ok"


def _counted(some: list[Reading]) -> str:
    guessed = sum(one.state == "guessed" for one in some)
    right = sum(one.right for one in some)
    share = f"{100 * right / len(some):.1f} %" if some else "–"
    return f"{len(some)} | {share} | {guessed} | {sum(map(silent, some))}"
