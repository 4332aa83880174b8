"""Memo files of dBase III and IV (.dbt) and of FoxPro (.fpt): the texts in them.

Sources: the pages on memo files in dBase's and Visual FoxPro's documentation ("Memo File Structure (.FPT)"). All three
consist of blocks; the first one is a header.
"""

from __future__ import annotations

from collections.abc import Iterator

_DBASE_BLOCK = 512
_IV_MEMO = b"\xff\xff\x08\x00"
_FOXPRO_TEXT = b"\0\0\0\x01"
_HEAD = 8  # of a memo of dBase IV and FoxPro: what it is, and its length
_NOT_IN_TEXT = bytes(c for c in range(32) if c not in b"\t\n\f\r")


def texts(data: bytes) -> Iterator[bytes]:
    """The memos in order, without the control characters that formatted ones hold."""
    memos = _dbase_4(data) if _IV_MEMO in data[: 1 << 16] else _foxpro(data) if is_foxpro(data) else _dbase_3(data)
    for memo in memos:
        # Soft line ends of dBase's editor are 0x8D 0x0A.
        if text := memo.replace(b"\x8d\n", b"\n").translate(None, _NOT_IN_TEXT).strip():
            yield text


def is_foxpro(head: bytes) -> bool:
    """Whether these first bytes are of a FoxPro memo file: the first memo's type and length follow the header."""
    if len(head) < _DBASE_BLOCK + _HEAD:
        return False
    block = int.from_bytes(head[6:8], "big")
    at = _first(block)
    kind, length = head[at : at + 4], int.from_bytes(head[at + 4 : at + _HEAD], "big")
    return block > 0 and kind in (b"\0\0\0\0", _FOXPRO_TEXT, b"\0\0\0\2") and 0 < length < 1 << 31


def _first(block: int) -> int:
    """Where the first block behind the header begins."""
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
    """Each begins a block and ends with 0x1A; anything after that in its last block is older."""
    at = _DBASE_BLOCK
    while at < len(data):
        end = data.find(b"\x1a", at)
        if end < 0:
            end = len(data)
        yield data[at:end].rstrip(b"\0")
        at = (end // _DBASE_BLOCK + 1) * _DBASE_BLOCK
