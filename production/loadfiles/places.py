"""Which file of a production a path of its load file means, however the program that wrote it writes paths."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from core.names import display_name
from production.loadfiles.reading import inside, regular

_LEADS_OUT, _MISSING = "is outside the production", "missing, or not a file"
_FROM_ROOT = re.compile(r"[\\/](?![\\/])")  # two are a server's
_ABOVE = 2  # a load file lies in `DATA` of a volume, say, and its paths begin at the volume or at what that lies in
_LISTED = 16  # directories whose names are kept: records come in the order of their files


class Place:
    """The root of a production. What a path means lies below it, or is nothing."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._above = self._root.parents[:_ABOVE]
        self._names = lru_cache(_LISTED)(_names)

    def find(self, said: str) -> tuple[Path | None, str]:
        """The file, resolved since a link's own name would lead elsewhere from where it is to lie, or why there is none."""
        file, why = self._below(self._root, said)
        if file is not None or why == _LEADS_OUT:
            return file, why
        for above in self._above:
            if self._below(above, said)[0] is not None:
                return None, f"{why}; it is found with --root {display_name(os.fsencode(above))}"
        return None, why

    def _below(self, root: Path, said: str) -> tuple[Path | None, str]:
        """The file that is written so, else the only one that differs from that in case alone."""
        exact = inside(root, said[1:] if _FROM_ROOT.match(said) else said)
        if exact is None:
            return None, _LEADS_OUT
        if regular(exact):
            return exact.resolve(), ""
        alike = [path.resolve() for path in self._alike(root, root, exact.relative_to(root).parts)]
        files = [path for path in alike if path.is_relative_to(root) and regular(path)]
        if len(files) > 1:
            return None, f"{_MISSING}; {len(files)} files differ from it only in case, so none is used"
        if files:
            return files[0], ""
        return None, _MISSING if all(path.is_relative_to(root) for path in alike) else _LEADS_OUT

    def _alike(self, root: Path, directory: Path, parts: Sequence[str]) -> Iterator[Path]:
        """What there is under names that differ from these only in case; a link that leads out is not followed."""
        for name in self._names(directory).get(parts[0].casefold(), ()):
            path = directory / name
            if len(parts) == 1 or not path.resolve().is_relative_to(root):
                yield path
            else:
                yield from self._alike(root, path, parts[1:])


def _names(directory: Path) -> Mapping[str, Sequence[str]]:
    """The names in a directory, by themselves without case; none where it is none."""
    names = defaultdict[str, list[str]](list)
    try:
        for name in sorted(os.listdir(directory)):
            names[name.casefold()].append(name)
    except OSError:
        pass
    return names
