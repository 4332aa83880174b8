"""Named properties and the map that says which name has which id ([MS-PST] 2.4.7)."""

from __future__ import annotations

import struct

from dataset_gen.formats.pst.pages import checksum
from dataset_gen.formats.pst.properties import Value

_FIRST_ID = 0x8000
_BUCKETS = 251
_ENTRY = struct.Struct("<IHH")


def _set(first: int) -> bytes:
    """A property set of the family that most belong to ([MS-OXPROPS] 1.3.2)."""
    return struct.pack("<I", first) + bytes.fromhex("0000 0000 c000 000000000046")


PS_MAPI = _set(0x00020328)
PS_PUBLIC_STRINGS = _set(0x00020329)
PSETID_COMMON = _set(0x00062008)
PSETID_APPOINTMENT = _set(0x00062002)
PS_INTERNET_HEADERS = _set(0x00020386)
_ALWAYS = ((PSETID_COMMON, 0x8506), (PS_PUBLIC_STRINGS, "Keywords"))  # there are readers that refuse an empty map
_KNOWN = (b"", PS_MAPI, PS_PUBLIC_STRINGS)  # sets that have a number of their own: 0 for none, 1, 2


class Names:
    """The named properties of one store."""

    def __init__(self) -> None:
        self._ids: dict[tuple[bytes, int | str], int] = {}
        self._sets: list[bytes] = []
        for group, name in _ALWAYS:
            self.tag(group, name, 0)

    def tag(self, group: bytes, name: int | str, kind: int) -> int:
        """The tag under which this store has that property: `group` is its property set, `kind` its type."""
        number = self._ids.setdefault((group, name), len(self._ids))
        if group not in _KNOWN and group not in self._sets:
            self._sets.append(group)
        return (_FIRST_ID + number) << 16 | kind

    def properties(self) -> dict[int, Value]:
        """The map: streams of entries, sets and names, and a hash table over the entries."""
        entries, strings = b"", b""
        buckets: dict[int, bytes] = {}
        for (group, name), number in self._ids.items():
            where = _KNOWN.index(group) if group in _KNOWN else self._sets.index(group) + len(_KNOWN)
            if isinstance(name, int):
                what = hashed = name
                flags = where << 1
            else:
                raw = name.encode("utf-16-le")
                what, hashed = len(strings), checksum(raw)
                flags = where << 1 | 1
                strings += struct.pack("<I", len(raw)) + raw + bytes(-len(raw) % 4)
            entries += _ENTRY.pack(what, flags, number)
            bucket = (hashed ^ flags) % _BUCKETS
            buckets[bucket] = buckets.get(bucket, b"") + _ENTRY.pack(hashed, flags, number)
        out: dict[int, Value] = {
            0x00010003: _BUCKETS,
            0x00020102: b"".join(self._sets),
            0x00030102: entries,
            0x00040102: strings,
        }
        return out | {(0x1000 + bucket) << 16 | 0x102: data for bucket, data in buckets.items()}
