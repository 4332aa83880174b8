"""What a job was created on. It is stored with the job: its labels must not change when the system gets another storage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from controller.labels.rules import FilerCache, filer_cache
from controller.observe.place_kind import Place, on_one_storage, place_of
from core.mounts import read_mounts
from core.settings import Settings

ELSEWHERE = "SOURCE NOT ON THE STORAGE UNDER TEST"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Of one job."""

    storage: Place  # the storage under test: that of the storage root
    source: Place | None  # what the source is on, where that is another file system
    cache_declared: int | None  # bytes that the filer can cache, as declared
    cache_possible: bool
    observe: bool  # storage calls were recorded

    @property
    def cache(self) -> FilerCache:
        """What the filer could cache."""
        return FilerCache(declared=self.cache_declared, possible=self.cache_possible)

    @property
    def elsewhere(self) -> list[str]:
        """The label of a source that is not on the storage under test."""
        if self.source is None:
            return []
        return [
            f"{ELSEWHERE}: it is on {self.source}; what is measured of the storage are the writes and what is read again"
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data for the job's row."""
        data = msgspec.to_builtins(self)
        assert isinstance(data, dict)
        return data


def surroundings_of(settings: Settings, source: bytes) -> Surroundings:
    """Of a job that is created now."""
    mounts, root = read_mounts(), settings.storage
    cache = filer_cache(root, settings.filer_cache)
    same = on_one_storage(os.fsdecode(source), settings.storage, mounts)
    return Surroundings(
        storage=place_of(root, mounts),
        source=None if same else place_of(os.fsdecode(source), mounts),
        cache_declared=cache.declared,
        cache_possible=cache.possible,
        observe=settings.observe,
    )


def storage_text(data: Mapping[str, Any] | None) -> str:
    """The storage of a job by its stored surroundings, and what its source is on where that is another; empty where an earlier
    version created it."""
    if data is None:
        return ""
    source = "" if data["source"] is None else f"; source on {Place(**data['source'])}"
    return f"{Place(**data['storage'])}{source}"


def noted(data: Any, settings: Settings) -> Surroundings:
    """As they were stored; those of a job that an earlier version created are taken to be the present ones."""
    if data is None:
        mounts, cache = read_mounts(), filer_cache(settings.storage, settings.filer_cache)
        return Surroundings(
            storage=place_of(settings.storage, mounts),
            source=None,
            cache_declared=cache.declared,
            cache_possible=cache.possible,
            observe=settings.observe,
        )
    return msgspec.convert(data, Surroundings)
