"""Conditions of two measurements apart from their configuration. One that differs has to be allowed by name.

Another storage is the point of a comparison, and with it another type of file system. Where the databases were, how
the storage was mounted and whether caches were cold is not: it moves figures as much as a storage does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from core.errors import UsageError

# Options of mount(8) that every type of file system has: the others of two types cannot be compared.
_COMMON = re.compile(
    r"ro|rw|(no)?(sync|dirsync|lazytime|mand|nosymfollow)|async|(no|rel|strict)?atime|(no)?diratime|(no)?(dev|exec|suid)"
)
# Say which storage it is, which host, and on which of a server's ports that change when it starts.
_WHO = re.compile(r"(client|mount)?addr=.*|(mount)?port=\d+|(user|group)_id=\d+|seclabel|fsname=.*|source=.*")


def database_placement(conditions: Mapping[str, Any], _other: Mapping[str, Any]) -> list[str]:
    """Whether each lay on the storage under test, and on what type of file system."""
    places = {
        ("on the storage under test" if one.get("on_storage_under_test") else "elsewhere", _type(one))
        for one in conditions.get("databases") or []
    }
    return [f"{where} ({kind})" for where, kind in sorted(places)]


def mount_options(conditions: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Of the storage; of two types of file system those that all types have."""
    same = {_type(place) for place in _storages(conditions)} == {_type(place) for place in _storages(other)}
    options = {option for place in _storages(conditions) for option in (place.get("mount") or {}).get("options", ())}
    return sorted(option for option in options if (same and not _WHO.fullmatch(option)) or _COMMON.fullmatch(option))


def cache_state(conditions: Mapping[str, Any], _other: Mapping[str, Any]) -> list[str]:
    """`cold on this host`, `partly cold` or `unknown`, as it was achieved."""
    state = (conditions.get("cache") or {}).get("state")
    return [re.split(r"[,:(]", state, maxsplit=1)[0].strip()] if state else []


def scaling(conditions: Mapping[str, Any], _other: Mapping[str, Any]) -> list[str]:
    """Of replays: whether more clients share one data set or have more of them."""
    return [str(conditions["scaling"])] if conditions.get("scaling") else []


GROUNDS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]]] = {
    "database-placement": database_placement,
    "mount-options": mount_options,
    "cache-state": cache_state,
    "scaling": scaling,
}


def differing_grounds(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, str]:
    """By name, in words; of the conditions of two results."""
    pairs = {name: (of(other, first), of(first, other)) for name, of in GROUNDS.items()}
    return {
        name: f"{name} {', '.join(theirs) or 'not known'}, the first has {', '.join(ours) or 'not known'}"
        for name, (theirs, ours) in pairs.items()
        if theirs != ours
    }


def parse_grounds(text: str | None) -> frozenset[str]:
    """`mount-options,cache-state`; raises UsageError for a name that is none."""
    names = frozenset(part.strip() for part in (text or "").split(",") if part.strip())
    if unknown := sorted(names - GROUNDS.keys()):
        raise UsageError(f"--allow: there is no {unknown[0]!r}; use {', '.join(GROUNDS)}")
    return names


def _storages(conditions: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return [*(conditions.get("targets") or []), *filter(None, [conditions.get("storage")])]


def _type(place: Mapping[str, Any]) -> str:
    return str((place.get("mount") or {}).get("type") or "not known")
