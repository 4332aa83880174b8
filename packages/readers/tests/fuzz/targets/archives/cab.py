"""cab: cabinets of one stored folder."""

import struct

from reading import handler


def _cabinet(data: bytes) -> bytes:
    name = b"a.txt\0"
    files_at, data_at = 36 + 8, 36 + 8 + 16 + len(name)
    size = data_at + 8 + len(data)
    header = struct.pack("<4sIIIIIBBHHHHH", b"MSCF", 0, size, 0, files_at, 0, 3, 1, 1, 1, 0, 0, 0)
    folder = struct.pack("<IHH", data_at, 1, 0)
    entry = struct.pack("<IIHHHH", len(data), 0, 0, 0x5821, 0, 0x20) + name
    return header + folder + entry + struct.pack("<IHH", 0, len(data), len(data)) + data


read = handler("application/vnd.ms-cab-compressed")
SEEDS = [_cabinet(b"some content")]
