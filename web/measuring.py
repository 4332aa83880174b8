"""Kinds of measurement that the server starts, and the command of each."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from controller.jobs.orders import DiscoveryOrder
from controller.jobs.overview import Overview
from core.document import TEXT, Document
from core.errors import UsageError
from core.extensions import extension_modules
from core.settings import numbers, parse_bytes
from dataset_gen.orders import CorpusOrder
from dataset_gen.profile import profile_names
from experiments.kinds import checked, parse_bounds
from experiments.orders import (
    ALIKE,
    TUNED_ALIKE,
    DayOrder,
    JobTypesOrder,
    KneePoints,
    R1Points,
    ScaleOutPoints,
    ScaleUpPoints,
    StudyOrder,
    SweepPoints,
    TunePoints,
    day_loads,
    r1_rows,
)
from experiments.workloads.discovery.setting import crossed, named
from web.api.models.jobs import NewJob
from web.context import WebContext
from web.results import chosen_source

_OURS = frozenset(
    ("corpus", "source", "profile", "name", "paths", "setting", "job", "result")
)  # not options of the same name


def some(of: type[Document], names: Iterable[str]) -> type[Document]:
    """A document type with these fields of another one."""
    fields: dict[str, Any] = {name: (of.model_fields[name].annotation, of.model_fields[name]) for name in names}
    return create_model(f"Some{of.__name__}", __base__=Document, **fields)


_WHERE = some(NewJob, ("corpus", "source"))
GivenPath = Annotated[str, Field(max_length=4_000, pattern=TEXT)]


class NewCorpus(CorpusOrder):
    """Options of `edbench corpus generate`; the corpus is a directory in `corpora` of the storage root."""

    name: Annotated[str, Field(max_length=100, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = Field(
        description="name of its directory: letters, digits, dots, _ and -"
    )

    def arguments(self, storage: Path) -> list[str]:
        """The arguments after the options."""
        return [f"--profile={self.profile}", "--", str(storage / "corpora" / self.name)]


def _of_corpus(context: WebContext, order: Any) -> list[str]:
    return [f"--corpus={chosen_source(context, order.corpus, order.source)}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of measurement."""

    name: str
    does: str
    model: type[Document]
    check: Callable[[Any], object]  # raises UsageError with the field
    group: str = "bench"  # of the command
    command: str = ""  # in the group, if it is not the name
    # Of the command, after its options; raises FieldErrors.
    arguments: Callable[[WebContext, Any], list[str]] = _of_corpus
    template: str = "measure.html"
    shown: Callable[[WebContext, Overview, Mapping[str, str]], dict[str, Any]] = lambda *_: {}  # more values for it
    press: str = "Measure"  # on its button
    leaves: str = ""  # what it leaves if it has no result

    @property
    def words(self) -> tuple[str, str]:
        """The group and name of the command."""
        return self.group, self.command or self.name

    @property
    def of_corpus(self) -> bool:
        """Whether it needs a corpus."""
        return self.arguments is _of_corpus


def model(name: str, *parts: type[Document]) -> type[Document]:
    return create_model(name, __base__=parts, __doc__=f"As `edbench {name}`, in the words of the command's options.")


def at(field: str, check: Callable[[], object]) -> None:
    """Report errors at this field."""
    try:
        check()
    except UsageError as error:
        raise UsageError(str(error), field=field) from error


def check_sizes(order: Any) -> None:
    for name in ("filer_cache", "null_memory"):
        text = getattr(order, name, None)
        if text is not None:
            at(name, partial(parse_bytes, text, f"--{name.replace('_', '-')}"))


def _checks(**parsed: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a check that parses each given field as the command does; axes and sizes are checked in every order."""

    def check(order: Any) -> None:
        for field, parse in parsed.items():
            if (value := getattr(order, field)) is not None:
                at(field, partial(parse, value))
        if getattr(order, "axis", None) or getattr(order, "mount_options", None):
            _crossed(order)
        check_sizes(order)

    return check


def _numbers(field: str) -> Callable[[Any], None]:
    return _checks(**{field: lambda text: checked(numbers(text, f"--{field}"), f"--{field}")})


def _crossed(order: Any) -> None:
    at("axis", partial(crossed, order.axis or (), order.mount_options))
    check_sizes(order)


def _profile(order: Any) -> None:
    if order.profile not in profile_names():  # a file's path is for the command line only
        raise UsageError(
            f"corpus profile {order.profile!r} does not exist; choose one of {', '.join(profile_names())}",
            field="profile",
        )


def target_roots(context: WebContext) -> list[str]:
    """The directories that tests and replays may write below."""
    return [str(context.settings.storage), *map(str, context.targets)]


_ALIKE = some(DiscoveryOrder, ALIKE)
_KINDS = (
    Kind(
        name="scale-up",
        does="process a corpus with increasing numbers of workers",
        model=model("ScaleUp", _ALIKE, StudyOrder, ScaleUpPoints, _WHERE),
        check=_numbers("workers"),
    ),
    Kind(
        name="scale-out",
        does="process a corpus with the same workers and increasing numbers of databases",
        model=model("ScaleOut", some(DiscoveryOrder, (*ALIKE, "shard")), StudyOrder, ScaleOutPoints, _WHERE),
        check=_numbers("databases"),
    ),
    Kind(
        name="knee",
        does="add workers until a latency bound is exceeded",
        model=model("Knee", _ALIKE, StudyOrder, KneePoints, _WHERE),
        check=_checks(max_p99=parse_bounds),
    ),
    Kind(
        name="tune",
        does="find a better distribution of tasks for a number of workers",
        model=model("Tune", some(DiscoveryOrder, TUNED_ALIKE), StudyOrder, TunePoints, _WHERE),
        check=_checks(setting=named),
    ),
    Kind(
        name="sweep",
        does="compare combinations of settings",
        model=model("Sweep", _ALIKE, StudyOrder, SweepPoints, _WHERE),
        check=_crossed,
    ),
    Kind(
        name="job-types",
        does="compare discovery, extraction, processing and export of the same data",
        model=model("JobTypes", JobTypesOrder, _WHERE),
        check=_numbers("workers"),
    ),
    Kind(
        name="day",
        does="let matters arrive at increasing rates, each with all types of jobs",
        model=model("Day", DayOrder, _WHERE),
        check=_checks(matters=day_loads),
    ),
    Kind(
        name="r1",
        does="run the three rows of report R1",
        model=model("R1", _ALIKE, StudyOrder, R1Points, _WHERE),
        check=_checks(workers=r1_rows),
    ),
    Kind(
        name="generate",
        does="generate a corpus with a manifest of its items",
        model=NewCorpus,
        group="corpus",
        check=_profile,
        press="Generate",
        leaves="Job forms then offer the corpus.",
        arguments=lambda context, order: order.arguments(context.settings.storage),
        template="measure_corpus.html",
        shown=lambda *_: {"corpus_profiles": profile_names()},
    ),
)


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """The kinds by name, with those of optional packages: `kinds` of the modules of `edbench.web`."""
    added = (kind for module in extension_modules("edbench.web") for kind in getattr(module, "kinds", ()))
    return {kind.name: kind for kind in (*_KINDS, *added)}


def command(kind: Kind, order: Document, arguments: Sequence[str] = ()) -> list[str]:
    """The words of the command: each option that differs from its default, joined with its value so that no value is
    taken for an option, then `arguments`."""
    out = [*kind.words]
    for name, value in order:
        usual = value is None or value is False or value == type(order).model_fields[name].default
        if name not in _OURS and not usual:
            option = f"--{name.replace('_', '-')}"
            each = value if isinstance(value, list) else [value.value if isinstance(value, enum.Enum) else value]
            out += [option if one is True else f"{option}={one}" for one in each]
    return [*out, *arguments]
