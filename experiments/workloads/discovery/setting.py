"""Settings of a discovery as points of an experiment: `batch-mb=8 fsync=file mount=nconnect=4`.

An axis is a field of `Setting`: what may be given there is what `bench sweep` and `bench tune` vary."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError

from controller.jobs.distribution import DEFAULT, Distribution, parse_phase_slots
from core.crew import MOUNT
from core.document import complaint
from core.errors import UsageError
from core.records import FsyncPolicy, JobOptions, Layout

_OPTIONS = ("fsync", "layout", "single_pass")  # of `JobOptions`, besides those that distribute tasks
_MOST_POINTS = 200


class Setting(Distribution):
    """Options that a point sets; the rest is as in the whole experiment."""

    fsync: FsyncPolicy = FsyncPolicy.NONE
    layout: Layout = Layout.SHARED
    single_pass: bool = False
    # Mount of the members' own configuration (worker.member.remount).
    mount: Annotated[str | None, Field(pattern=f"^{MOUNT}$")] = None

    def __str__(self) -> str:
        given = self.model_dump(mode="json", include=self.model_fields_set)
        return " ".join(f"{name.replace('_', '-')}={value}" for name, value in given.items()) or DEFAULT

    def applied(self, options: JobOptions) -> JobOptions:
        """Return the options of a job with this setting applied. Raises UsageError."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        tasks = {name: value for name, value in given.items() if name in Distribution.model_fields}
        rest = {name: value for name, value in given.items() if name in _OPTIONS}
        return dataclasses.replace(Distribution.of(options).model_copy(update=tasks).distributed(options), **rest)


def parse_setting(text: str) -> Setting:
    """Parse a setting in the form that `str` writes. Raises UsageError."""
    pairs = [] if text == DEFAULT else [part.partition("=") for part in text.split()]
    given = {name.removeprefix("--").replace("-", "_"): value for name, _, value in pairs}
    try:
        made = Setting.model_validate(given)
    except ValidationError as error:
        name, why = complaint(error)
        known = ", ".join(one.replace("_", "-") for one in Setting.model_fields)
        why = f"use {known}" if name not in Setting.model_fields else why
        raise UsageError(f"setting {text[:120]!r}: {name.replace('_', '-')}: {why}", field="setting") from error
    parse_phase_slots(made.phase_slots or "")
    return made


def crossed(axes: Sequence[str], mounts: str | None) -> list[str]:
    """Return every combination of axes such as `fsync=none|file`; `mounts`: `nconnect=1|4|8`, the names of mounts.
    Raises UsageError."""
    values: dict[str, list[str]] = {}
    for axis in axes:
        name, sign, rest = axis.partition("=")
        if not sign or name in values:
            raise UsageError(f"--axis {axis[:60]!r}: give each axis once, as NAME=VALUE|VALUE", field="axis")
        values[name] = rest.split("|")
    if mounts is not None:
        first, *others = mounts.split("|")
        key = f"{first.rpartition('=')[0]}=" if "=" in first else ""
        values["mount"] = [first, *(other if "=" in other else f"{key}{other}" for other in others)]
    points = [
        " ".join(f"{name}={value}" for name, value in zip(values, one, strict=True))
        for one in itertools.product(*values.values())
    ]
    if not 2 <= len(points) <= _MOST_POINTS:
        raise UsageError(f"--axis: {len(points)} settings; a sweep has 2 to {_MOST_POINTS}", field="axis")
    return different([parse_setting(text) for text in points], "--axis")


def named(texts: Sequence[str]) -> list[str]:
    """Return the settings that a user names for a tune. Raises UsageError."""
    if len(texts) > _MOST_POINTS:
        raise UsageError(f"--setting: {len(texts)} settings; give at most {_MOST_POINTS}", field="setting")
    return different([Setting(), *map(parse_setting, texts)], "--setting")[1:]


def different(settings: Sequence[Setting], option: str) -> list[str]:
    """Return the settings as text. Raises UsageError if two are the same."""
    found = [str(one) for one in settings]
    if len(set(found)) < len(found):
        raise UsageError(f"{option}: two of the settings are the same", field=option.removeprefix("--"))
    return found


# Values from which a tune draws: for each option, around its default.
SPACE: Mapping[str, Sequence[Any]] = {
    "batch_mb": (4, 8, 16, 32, 64, 128),
    "batch_files": (60, 125, 250, 500, 1_000, 2_000),
    "split_mb": (16, 32, 64, 128, 256),
    "task_order": ("largest", "fair"),
    "window_factor": (None, 1, 2, 4, 8),
}
_TRIES = 100  # for each candidate


def drawn(number: int, slots: int, seed: int) -> list[str]:
    """Draw so many different settings, none of them the default. `slots`: of all workers; half or a quarter of them may
    index."""
    dice = random.Random(seed)
    space = {**SPACE, "index_streams": (None, None, max(1, slots // 2), max(1, slots // 4))}
    found: dict[str, None] = {}
    for _ in range(_TRIES * number):
        found[str(Distribution(**{name: dice.choice(values) for name, values in space.items()}))] = None
        found.pop(DEFAULT, None)
        if len(found) == number:
            break
    return list(found)
