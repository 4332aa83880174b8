"""What can be measured from the page, and the command line that each order becomes.

The models are put together of what the commands take their options from (`experiments.orders`, `DiscoveryOrder`).
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from controller.jobs.orders import DiscoveryOrder
from controller.replay.order import parse_pace
from core.document import TEXT, Document
from core.errors import UsageError
from core.filer.load import site_names
from core.settings import numbers, parse_bytes
from dataset_gen.orders import CorpusOrder
from dataset_gen.profile import profile_names
from experiments.kinds.grid import checked
from experiments.kinds.knee import parse_bounds
from experiments.orders import (
    ALIKE,
    JobTypesOrder,
    KneePoints,
    ProfileOrder,
    R1Order,
    ScaleOutPoints,
    ScaleUpPoints,
    StudyOrder,
)
from experiments.replay_orders import PredictOrder, ReplayStudyOrder
from experiments.workloads.replay.scaling import parse_scaling
from replay.plan import MAX_PATHS
from web.api.models.jobs import NewJob

_OURS = frozenset(
    ("corpus", "source", "profile", "name", "paths", "setting", "job", "result")
)  # said in the command's own way


def _some(of: type[Document], names: Iterable[str]) -> type[Document]:
    """A document with these fields of another one."""
    fields: dict[str, Any] = {name: (of.model_fields[name].annotation, of.model_fields[name]) for name in names}
    return create_model(f"Some{of.__name__}", __base__=Document, **fields)


_WHERE = _some(NewJob, ("corpus", "source"))
_Path = Annotated[str, Field(max_length=4_000, pattern=TEXT)]


class Targets(Document):
    """Where a storage profile runs, and its settings."""

    profile: Annotated[str, Field(max_length=100, pattern=TEXT)] = Field(description="Of GET /api/v1/profiles.")
    paths: Annotated[list[_Path], Field(max_length=16)] = Field(
        default_factory=list,
        description="Absolute paths of empty directories, each a volume, below the storage root or EDBENCH_TARGETS.",
    )
    setting: Annotated[list[Annotated[str, Field(max_length=1_000, pattern=TEXT)]], Field(max_length=100)] = Field(
        default_factory=list, description="NAME=VALUE each, as `edbench corpus profiles` tells them."
    )

    def said(self, paths: Iterable[Path]) -> list[str]:
        """Behind the options."""
        return [*(f"--path={path}" for path in paths), *(f"--set={one}" for one in self.setting), "--", self.profile]


class NewCorpus(CorpusOrder):
    """As `edbench corpus generate`, into a folder of the storage root's `corpora`."""

    name: Annotated[str, Field(max_length=100, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = Field(
        description="of its folder: letters, digits, dots, _ and -"
    )

    def said(self, storage: Path) -> list[str]:
        """Behind the options."""
        return [f"--profile={self.profile}", "--", str(storage / "corpora" / self.name)]


class Played(Document):
    """Which trace is replayed, and where."""

    job: uuid.UUID = Field(description="The job that kept the trace, of GET /api/v1/traces.")
    paths: Annotated[list[_Path], Field(min_length=1, max_length=MAX_PATHS)] = Field(
        description="Absolute paths of empty directories, below the storage root or EDBENCH_TARGETS."
    )
    shared: bool = Field(False, description="clones of the trace read the same files, and not each its own")

    def said(self, trace: Path, paths: Iterable[Path]) -> list[str]:
        """Behind the options."""
        return [*(f"--path={path}" for path in paths), "--", str(trace)]


class Asked(Document):
    """What a prediction is calibrated on, and the site that it is about."""

    result: Annotated[str, Field(max_length=255, pattern=TEXT)] | None = Field(
        None,
        description="Name of a result of a scale-up, or of job-types, to calibrate on; else the reference calibration.",
    )
    site: Annotated[str, Field(max_length=40, pattern=TEXT)] | None = Field(
        None, description=f"emulated site: {', '.join(site_names())}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of them."""

    name: str
    does: str
    model: type[Document]
    words: tuple[str, ...]  # of the command
    check: Callable[[Any], object]  # raises UsageError with the field
    alone: bool = True  # what runs beside it is in its figures
    press: str = "Measure"  # on its button
    leaves: str = ""  # where it has no result

    @property
    def of_corpus(self) -> bool:
        """Whether it is asked for over a corpus."""
        return "corpus" in self.model.model_fields


def _model(name: str, *parts: type[Document]) -> type[Document]:
    return create_model(name, __base__=parts, __doc__=f"As `edbench {name}`, in the words of the command's options.")


def _held(field: str, check: Callable[[], object]) -> None:
    """What is wrong is wrong at that field."""
    try:
        check()
    except UsageError as error:
        raise UsageError(str(error), field=field) from error


def _sizes(wish: Any) -> None:
    for name in ("filer_cache", "null_memory"):
        text = getattr(wish, name, None)
        if text is not None:
            _held(name, partial(parse_bytes, text, f"--{name.replace('_', '-')}"))


def _numbers(*fields: str) -> Callable[[Any], None]:
    def check(wish: Any) -> None:
        for field in fields:
            _held(field, partial(_points, getattr(wish, field), f"--{field}"))
        _sizes(wish)

    return check


def _points(text: str, option: str) -> None:
    checked(numbers(text, option), option)


def _bounds(wish: Any) -> None:
    _held("max_p99", partial(parse_bounds, wish.max_p99))
    _sizes(wish)


def _replayed(wish: Any) -> None:
    _held("pace", partial(parse_pace, wish.pace))
    _held("scaling", partial(parse_scaling, wish.scaling))
    if wish.clients is not None:
        numbers(wish.clients, "--clients", digits=9)
    if wish.max_p99 is not None:
        _held("max_p99", partial(parse_bounds, wish.max_p99))
    _sizes(wish)


def _profile(wish: Any) -> None:
    if wish.profile not in profile_names():  # a file's path is for the command line only
        raise UsageError(f"it can be {', '.join(profile_names())}", field="profile")


_ALIKE = _some(DiscoveryOrder, ALIKE)
KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="scale-up",
            does="a corpus with more and more workers",
            model=_model("ScaleUp", _ALIKE, StudyOrder, ScaleUpPoints, _WHERE),
            words=("bench", "scale-up"),
            check=_numbers("workers"),
        ),
        Kind(
            name="scale-out",
            does="a corpus with the same workers on more and more databases",
            model=_model("ScaleOut", _some(DiscoveryOrder, (*ALIKE, "shard")), StudyOrder, ScaleOutPoints, _WHERE),
            words=("bench", "scale-out"),
            check=_numbers("databases"),
        ),
        Kind(
            name="knee",
            does="more workers until a bound on latency is broken",
            model=_model("Knee", _ALIKE, StudyOrder, KneePoints, _WHERE),
            words=("bench", "knee"),
            check=_bounds,
        ),
        Kind(
            name="job-types",
            does="a discovery, an extraction, a processing and an export of the same data side by side",
            model=_model("JobTypes", JobTypesOrder, _WHERE),
            words=("bench", "job-types"),
            check=_numbers("workers"),
        ),
        Kind(
            name="r1",
            does="report R1's rows on an emulated site",
            model=_model("R1", R1Order),
            words=("bench", "r1"),
            check=_sizes,
        ),
        Kind(
            name="profile",
            does="a storage test of reports R2 to R5",
            model=_model("ProfileRun", ProfileOrder, Targets),
            words=("bench", "storage"),
            check=_sizes,
        ),
        Kind(
            name="replay",
            does="the calls of a job's trace, made again by client processes",
            model=_model("Replay", ReplayStudyOrder, Played),
            words=("trace", "replay"),
            check=_replayed,
        ),
        Kind(
            name="predict",
            does="what more workers, more databases or another filer would do, by a simulation: it measures nothing",
            model=_model("Predict", PredictOrder, Asked),
            words=("bench", "predict"),
            check=_numbers("workers", "databases"),
            alone=False,
            press="Predict",
            leaves="What it says stands on its page.",
        ),
        Kind(
            name="generate",
            does="a corpus, with a manifest of everything in it: evidence to try jobs on",
            model=NewCorpus,
            words=("corpus", "generate"),
            check=_profile,
            press="Generate",
            leaves="It is among the corpora of the forms afterwards.",
        ),
    )
}


def command(kind: Kind, wish: Document, said: Sequence[str] = ()) -> list[str]:
    """The command's words: each option in one with its value, so that no value is taken for an option, and then what is `said` in
    its own way."""
    out = [*kind.words]
    for name, value in wish:
        if name not in _OURS and value is not None and value is not False:
            told = value.value if isinstance(value, enum.Enum) else value
            out.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={told}"))
    return [*out, *said]
