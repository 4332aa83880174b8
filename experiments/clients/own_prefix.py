"""Whose objects below an S3 prefix are: a marker object beside a prefix of a random name, below which everything is written.

As `experiments.profiles.owner` does it for directories: nothing else is ever removed, a prefix that holds anything else is
refused, and what a dead command left is removed by the next one on this host. Limits: two commands that begin at the same
moment both go on, each below its own name; objects in parts that were never finished are the bucket's lifecycle's to remove.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from core.errors import RunFailed, StorageFault, UsageError
from experiments.clients.objects import (
    Place,
    connect,
    names_below,
    place_of,
    put,
    remove,
    remove_below,
    text_of,
)
from experiments.clients.store import Failed, Refused
from experiments.profiles.owner import Owner, this_process

_MARK = ".owner.json"


@contextmanager
def claimed_prefix(url: str) -> Iterator[str]:
    """A URL below this one, empty; everything below it goes at the end.

    Raises UsageError where something else lies there, StorageFault where the endpoint does not do as it is told.
    """
    place = place_of(url)
    connect(place)
    owner = this_process()
    marker = f"{owner.directory}{_MARK}"
    try:
        _forget_dead(place)
        put(place, marker, json.dumps(asdict(owner)).encode())
    except (Refused, Failed) as error:
        raise StorageFault(f"{url}: {error}") from error
    own = place.below(owner.directory)
    try:
        yield str(own)
    finally:
        try:
            remove_below(own)
            remove(place, marker)
        except (Refused, Failed) as error:
            raise RunFailed(f"what was written below {own} cannot be removed: {error}") from error


def _forget_dead(place: Place) -> None:
    names = next(names_below(place), [])
    for name in [name for name in names if name.endswith(_MARK)]:
        owner = _read(place, name)
        if owner.alive():
            raise UsageError(f"--s3: {place}: process {owner.pid} runs a storage test there")
        remove_below(place.below(owner.directory))
        remove(place, name)
    others = next(names_below(place), [])
    if others:
        raise UsageError(f"--s3: {place} is not empty ({others[0]}): a storage test needs an empty prefix")


def _read(place: Place, name: str) -> Owner:
    try:
        owner = Owner(**json.loads(text_of(place, name)))
        if name != f"{owner.directory}{_MARK}":
            raise ValueError("it names another")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"--s3: {place}: {name} was not written by edbench ({error}); nothing was changed there"
        ) from error
    return owner
