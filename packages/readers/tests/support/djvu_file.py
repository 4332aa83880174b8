"""DjVu documents for tests (DjVu 3, 8)."""

import struct


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack(">I", len(data)) + data + b"\0" * (len(data) % 2)


def djvu(text: str | None = None, annotations: bytes = b"") -> bytes:
    """One page of 10 by 10, with a text layer and annotations where they are given."""
    body = b"DJVU" + _chunk(b"INFO", struct.pack(">HHBB", 10, 10, 24, 0) + b"\x2c\x01\x16\x01")
    if text is not None:
        body += _chunk(b"TXTa", len(text.encode()).to_bytes(3, "big") + text.encode() + b"\x01")
    if annotations:
        body += _chunk(b"ANTa", annotations)
    return b"AT&TFORM" + struct.pack(">I", len(body)) + body
