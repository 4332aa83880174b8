"""Lists of hashes as people have them."""

import hashlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from core.errors import UsageError
from review.denist import lists
from review.denist.lists import Digests, DigestSet, HashKind, HashList, hash_list


def _all(of: HashList) -> list[str]:
    return [row.tobytes().hex() for piece in of.pieces() for row in piece]


def _file(place: Path, text: str | bytes) -> Path:
    path = place / "list.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


HASHES = [hashlib.sha256(b"%d" % n).hexdigest() for n in range(7)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [64, 65, 200, 1_000_000])
def test_a_plain_list_is_read_whole_whatever_the_blocks(
    tmp_path: Path, end: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "BLOCK_BYTES", block)
    text = end.join(h.upper() if n % 2 else h for n, h in enumerate(HASHES))
    for whole in (text, text + end, "\ufeff" + text):
        taken = hash_list(_file(tmp_path, whole))
        assert _all(taken) == HASHES
        assert (taken.kind, taken.hashes, taken.bad) == (HashKind.SHA256, 7, 0)


def test_what_programs_write_is_taken(tmp_path: Path) -> None:
    """sha256sum's names, remarks, empty lines, RDS 2's header and columns."""
    text = f"# known\n\n{HASHES[0]}  a file\n{HASHES[1]} *b\n"
    assert _all(hash_list(_file(tmp_path, text))) == HASHES[:2]
    escaped = hash_list(_file(tmp_path, f"\\{HASHES[0]}  a\\nb\n{HASHES[1]}  c\n"))
    assert (_all(escaped), escaped.bad) == (HASHES[:2], 0)
    sha1 = hashlib.sha1(b"x").hexdigest().upper()
    header = '"SHA-1","MD5","CRC32","FileName","FileSize","ProductCode","OpSystemCode","SpecialCode"'
    rds = hash_list(_file(tmp_path, f'{header}\r\n"{sha1}","0A","1","a,b.dll",3,4,"x",""\r\n'))
    assert _all(rds) == [sha1.lower()]
    assert (rds.kind, rds.bad) == (HashKind.SHA1, 0)


def test_bad_lines_are_counted_and_reported(tmp_path: Path) -> None:
    """A digit too few or too many, a hash of another kind, letters that are no digits, white space within: none is taken
    for something else, and none goes unseen."""
    bad = [
        HASHES[1][:-1],
        HASHES[1] + "0",
        hashlib.md5(b"").hexdigest(),
        "g" * 64,
        HASHES[1][:30] + "  " + HASHES[1][32:],
    ]
    taken = hash_list(_file(tmp_path, "\n".join([HASHES[0], *bad, HASHES[2], ""])))
    assert _all(taken) == [HASHES[0], HASHES[2]]
    assert (taken.hashes, taken.bad, taken.first_bad) == (2, 5, 2)


@pytest.mark.parametrize(
    "text", [b"", b"\n\n", b"# only a remark\n", b"words\n", HASHES[0].encode("utf-16"), b"\0" * 99]
)
def test_a_list_without_a_hash_is_refused(tmp_path: Path, text: bytes) -> None:
    """To flag nothing by it would look like an answer."""
    with pytest.raises(UsageError, match="contains no hash"):
        hash_list(_file(tmp_path, text))


def test_a_file_without_lines_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "BLOCK_BYTES", 1000)
    with pytest.raises(UsageError, match="line of more than"):
        hash_list(_file(tmp_path, b"a" * (lists.LONGEST_LINE + 2000)))
    with pytest.raises(UsageError, match="does not exist"):
        hash_list(tmp_path / "none")
    with pytest.raises(UsageError, match="is a directory"):
        hash_list(tmp_path)


def _rds(place: Path, table: str, columns: str, rows: list[tuple[object, ...]]) -> Path:
    path = place / "RDS ?#.db"
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE {table} ({columns})")
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    database.close()
    return path


def test_rds_3_is_read_from_its_database(tmp_path: Path) -> None:
    """The SHA-256 column of METADATA, upper case as NIST has it; a row without one is counted as bad."""
    rows: list[tuple[object, ...]] = [(h.upper(), "00", "a.dll") for h in HASHES] + [(None, "11", "b"), (7, "1", "c")]
    taken = hash_list(_rds(tmp_path, "METADATA", "sha256, sha1, file_name", rows))
    assert _all(taken) == HASHES
    assert (taken.kind, taken.hashes, taken.bad, taken.first_bad) == (HashKind.SHA256, 7, 2, 8)


def test_other_databases_are_refused(tmp_path: Path) -> None:
    path = _rds(tmp_path, "other", "sha256", [(HASHES[0],)])
    with pytest.raises(UsageError, match="neither a table METADATA nor FILE"):
        hash_list(path)
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    with pytest.raises(UsageError, match="is damaged"):
        hash_list(path)


def _digests(*rows: bytes) -> Digests:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


def test_digests_that_begin_alike_are_told_apart() -> None:
    head, zeros = b"A" * 8, bytes(16)
    items = [head + bytes([n]) * 8 for n in (5, 3, 3, 9, 255)] + [b"\xff" * 16, zeros]
    known = DigestSet(_digests(*items))
    known.look_up(_digests(head + b"\x04" * 8, head + b"\x03" * 8, b"\xff" * 16, zeros))
    known.look_up(_digests(head + b"\xff" * 8))
    assert known.found().tolist() == [False, True, True, False, True, True, False]


def test_a_set_of_none_finds_none() -> None:
    empty = np.zeros((0, 32), np.uint8)
    known = DigestSet(empty)
    known.look_up(_digests(b"x" * 32))
    assert known.found().tolist() == []
    known = DigestSet(_digests(b"x" * 32))
    known.look_up(empty)
    assert known.found().tolist() == [False]
