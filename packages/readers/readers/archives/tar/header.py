"""Recognition of the header of a tar entry in 512 bytes (POSIX.1-2017 pax, ustar, GNU, seventh edition)."""

from __future__ import annotations


def is_tar_header(block: bytes) -> bool:
    """Return whether the checksum field holds the sum of the other bytes, the only sign of old tar files. Any type is
    accepted: an unknown one is a regular file (POSIX.1-2017, pax, ustar interchange format)."""
    if len(block) < 512 or block[0] == 0 or not (block[156] == 0 or 32 < block[156] < 127):
        return False
    field = block[148:156].strip(b" \0")
    if not field.isdigit():  # text, as a rule
        return False
    try:
        announced = int(field, 8)
    except ValueError:
        return False
    rest = block[:148] + b" " * 8 + block[156:512]
    unsigned = sum(rest)
    if announced == unsigned:
        return True
    return announced == unsigned - 256 * sum(byte > 127 for byte in rest)
