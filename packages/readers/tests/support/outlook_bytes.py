"""Outlook's messages and streams from their parts, for what the writers of dataset_gen never write."""

import struct
from collections.abc import Mapping

from readers import cfb


def attribute(ident: int, value: bytes, level: int = 1) -> bytes:
    """An attribute of a stream ([MS-OXTNEF] 2.1.3)."""
    return struct.pack("<BII", level, ident, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)


def winmail(*attributes: bytes) -> bytes:
    """A stream of these attributes."""
    return struct.pack("<IH", 0x223E9F78, 1) + b"".join(attributes)


def eight_bit_message(strings: Mapping[int, bytes], page: int = 0) -> bytes:
    """A message with strings of eight bits, by property; 0: it names no code page."""
    fixed = bytes(32) + (struct.pack("<IIQ", 0x3FFD0003, 0, page) if page else b"")
    streams = {f"__substg1.0_{ident:04X}001E": text for ident, text in strings.items()}
    return cfb.write(cfb.Storage(streams={"__properties_version1.0": fixed, **streams}))
