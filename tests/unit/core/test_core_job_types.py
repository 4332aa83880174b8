"""Job types that packages register: their options in a job's row, and jobs whose package is not installed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from core import job_types, records
from core.errors import PackageMissing
from core.job_types import JobType, JobTypes, MissingOptions, Phase, TypeOptions, registered, types_of
from core.records import JobOptions


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Own(TypeOptions):
    type: JobType = JobType.EXPORT
    out: str = ""


class Types(JobTypes):
    options = Own
    phases: ClassVar[Mapping[JobType, tuple[Phase, ...]]] = {JobType.EXPORT: (Phase.EXPORT, Phase.FINALISE)}


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> dict[str, JobTypes]:
    known: dict[str, JobTypes] = {"own": Types()}
    for module in (job_types, records):
        monkeypatch.setattr(module, "registered", lambda: known)
    return known


def test_options_of_a_registered_type_have_a_key_of_their_own(types: dict[str, JobTypes]) -> None:
    options = JobOptions(of_type=Own(out="/x"))
    data = options.to_json()
    assert (data["type"], data["own"]) == ("export", {"type": "export", "out": "/x"})
    assert JobOptions.from_json(data) == options
    assert (options.type, options.phases) == (JobType.EXPORT, (Phase.EXPORT, Phase.FINALISE))
    assert options.of(Own).out == "/x"
    assert types_of(options.of_type) is types["own"]


def test_a_discovery_has_none() -> None:
    data = JobOptions().to_json()
    assert data.keys().isdisjoint({"type", "of_type", *registered()})
    assert JobOptions.from_json(data).type is JobType.DISCOVERY
    assert types_of(None).leave(None, None, None, Phase.RENDER) is None
    with pytest.raises(TypeError, match="job of type discovery has no Own"):
        JobOptions().of(Own)


def test_a_job_whose_package_is_not_installed_is_listed_and_can_do_nothing_else(types: dict[str, JobTypes]) -> None:
    data: dict[str, Any] = JobOptions(of_type=Own(out="/x")).to_json()
    types.clear()
    options = JobOptions.from_json(data)
    assert isinstance(options.of_type, MissingOptions)
    assert (options.type, options.to_json()) == (JobType.EXPORT, data)
    for attempt in (lambda: options.phases, lambda: types_of(options.of_type), lambda: options.of(Own)):
        with pytest.raises(PackageMissing, match="jobs of type export need the package edbench-own; install it"):
            attempt()


def test_unknown_options_are_refused(types: dict[str, JobTypes]) -> None:
    for more in ({"later": 1}, {"own": {"type": "export", "out": "", "later": 1}}):
        with pytest.raises(TypeError, match=r"options\.(own\.)?later"):
            JobOptions.from_json(JobOptions(of_type=Own()).to_json() | more)
