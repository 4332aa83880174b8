"""Numbers as the report writes them: always with a unit and a suitable number of digits."""

from __future__ import annotations

import math
from collections.abc import Iterable

from core.histogram import LIMIT_NS
from core.texts import many as many

GB = 1e9


def count(value: float) -> str:
    """12345.6 → 12,346."""
    return f"{value:,.0f}"


def figure(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits and no exponent; larger whole numbers keep all their digits."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    rounded = float(f"{abs(value):.{digits}g}")  # 0.09999 has the places of 0.100
    places = max(0, digits - 1 - math.floor(math.log10(rounded)))
    return f"{value:,.{places}f}".replace("-", "\u2212")


def percent(share: float) -> str:
    """0.513 → 51 %."""
    return f"{share * 100:.0f} %" if abs(share) >= 0.1 or share == 0 else f"{share * 100:.1f} %"


def signed(share: float) -> str:
    """Return a change: −0.0513 → −5.1 %."""
    return f"{share:+.1%}".replace("%", " %").replace("-", "\u2212")


def seconds(value: float) -> str:
    """7.25 → 7.2 s; 75 → 1:15 min; 17136 → 4:45:36."""
    if value < 60:
        return f"{figure(value, 2) if value < 10 else format(value, '.1f')} s"
    whole = round(value)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02} min"


def microseconds(value: float) -> str:
    """850 → 850 µs; 20300 → 20.3 ms; 1500000 → 1.50 s; what the histograms' last bucket holds → > 2.4 h."""
    if value >= LIMIT_NS / 1000:
        return f"> {LIMIT_NS / 3.6e12:.1f} h"
    if value < 1000:
        return f"{figure(value)} µs" if value < 100 else f"{value:.0f} µs"
    if value < 1_000_000:
        return f"{figure(value / 1000)} ms"
    return f"{figure(value / 1e6)} s"


def size(value: float) -> str:
    """Bytes in the unit that suits; 1 GB = 10⁹ bytes."""
    for unit, length in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= length:
            return f"{figure(value / length)} {unit}"
    return f"{value:.0f} B"


def binary(nbytes: int) -> str:
    """Return a size in powers of two: `8 KiB`."""
    for unit, bits in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >> bits:
            return f"{nbytes / (1 << bits):g} {unit}"
    return f"{nbytes} B"


def listed(words: Iterable[str]) -> str:
    """a; a and b; a, b and c."""
    every = list(words)
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def gathered(lines: Iterable[str]) -> list[str]:
    """Combine lines that differ only in the number of the repeat: `…: repeats 1 and 2, too short`."""
    repeats: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        before, _, rest = line.partition(": repeat ")
        number, comma, after = rest.partition(", ")
        known = repeats.setdefault((before, after) if comma else (line, ""), [])
        known += [number] if comma else []
    return [
        f"{before}: repeat{'s' if len(numbers) > 1 else ''} {listed(numbers)}, {after}" if numbers else before
        for (before, after), numbers in repeats.items()
    ]
