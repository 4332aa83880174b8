"""cpio: the portable formats."""

from reading import handler

_ZEROS = b"0" * 8


def _newc(name: bytes, data: bytes) -> bytes:
    fields = [b"00000001", b"000081a4", _ZEROS, _ZEROS, b"00000001", _ZEROS, b"%08x" % len(data), *[_ZEROS] * 4]
    out = b"070701" + b"".join(fields) + b"%08x" % (len(name) + 1) + _ZEROS + name + b"\0"
    out += bytes(-len(out) % 4) + data
    return out + bytes(-len(out) % 4)


read = handler("application/x-cpio")
SEEDS = [_newc(b"a.txt", b"content") + _newc(b"TRAILER!!!", b"")]
