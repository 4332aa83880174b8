"""What a camera writes into its pictures: make, model, dates, exposure, often the place (CIPA DC-008)."""

from __future__ import annotations

import functools
import struct

from dataset_gen.formats.images.tiff_tags import Entry, directory, long, rational, short, text
from dataset_gen.rng import Dice

_CAMERAS = (
    ("Canon", "Canon EOS 80D"), ("NIKON CORPORATION", "NIKON D750"), ("Apple", "iPhone 11 Pro"),
    ("samsung", "SM-G973F"), ("SONY", "ILCE-6400"), ("FUJIFILM", "X-T30"), ("Panasonic", "DMC-LX100"),
)  # fmt: skip
_PLACED = frozenset(("Apple", "samsung"))  # telephones know where they are
_ZONES = ("+00:00", "+01:00", "+02:00", "-05:00", "+09:00")


@functools.cache
def _degrees(reference: str) -> tuple[int, bytes]:
    """The tag of the reference and its letter."""
    return (1 if reference in "NS" else 3), reference.encode() + b"\0"


def _coordinate(dice: Dice, most: int, references: str) -> list[Entry]:
    tag, letter = _degrees(dice.pick(references))
    value = (dice.below(most), 1), (dice.below(60), 1), (dice.below(6000), 100)
    return [(tag, 2, 2, letter), rational(tag + 1, *value)]


def block(dice: Dice, width: int, height: int) -> bytes:
    """An Exif block without the marker in front: a TIFF header and two or three directories."""
    make, model = dice.pick(_CAMERAS)
    when = f"20{dice.between(12, 23)}:{dice.between(1, 12):02d}:{dice.between(1, 28):02d} "
    when += f"{dice.below(24):02d}:{dice.below(60):02d}:{dice.below(60):02d}"
    shot: list[Entry] = [
        rational(0x829A, (1, dice.pick((30, 60, 125, 250, 500)))),
        rational(0x829D, (dice.pick((18, 24, 28, 40, 56, 80)), 10)),
        short(0x8827, dice.pick((100, 200, 400, 800))),
        (0x9000, 7, 4, b"0231"),
        text(0x9003, when),
        text(0x9004, when),
        text(0x9011, dice.pick(_ZONES)),
        rational(0x920A, (dice.between(18, 200), 1)),
        long(0xA002, width),
        long(0xA003, height),
    ]
    place: list[Entry] = []
    if make in _PLACED or dice.chance(0.1):
        place = [(0, 1, 4, b"\2\3\0\0"), *_coordinate(dice, 60, "NS"), *_coordinate(dice, 170, "EW")]
    main: list[Entry] = [
        text(0x010F, make),
        text(0x0110, model),
        short(0x0112, 1),
        text(0x0131, "Edbench"),
        text(0x0132, when),
        long(0x8769, 0),
    ]
    if place:
        main.append(long(0x8825, 0))
    return _assembled(main, shot, place)


def _assembled(main: list[Entry], shot: list[Entry], place: list[Entry]) -> bytes:
    """The directories one after the other, their offsets filled in."""
    shot_at = 8 + len(directory(main, 8))
    second = directory(shot, shot_at)
    place_at = shot_at + len(second)
    where = {0x8769: long(0x8769, shot_at), 0x8825: long(0x8825, place_at)}
    first = directory([where.get(entry[0], entry) for entry in main], 8)
    third = directory(place, place_at) if place else b""
    return b"".join((b"II*\0", struct.pack("<I", 8), first, second, third))
