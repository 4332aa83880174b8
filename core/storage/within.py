"""Whether a directory lies in another one, by what is there: names alone do not tell. A directory may be mounted at two
places, and storage that does not tell upper and lower case apart has many names for one."""

from __future__ import annotations

import os


def lies_in(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> bool:
    """Whether `path`, which need not be there yet, is the directory or would lie in it; links are followed."""
    real, within = os.path.realpath(path), os.path.realpath(directory)
    if real == within or real.startswith(within.rstrip("/") + "/"):
        return True
    try:
        wanted = os.stat(within)
    except OSError:  # not there yet: nothing lies in it under another name
        return False
    return any(_is(above, wanted) for above in _and_above(real))


def _and_above(path: str) -> list[str]:
    out = [path]
    while (above := os.path.dirname(out[-1])) != out[-1]:
        out.append(above)
    return out


def _is(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), wanted)
    except OSError:
        return False
