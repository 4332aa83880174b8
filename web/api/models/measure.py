"""Measurements and storage tests."""

from __future__ import annotations

from pydantic import Field

from core.document import Document
from web.measuring.runs import Measurement
from web.measuring.traces import TraceRow


class MeasurementList(Document):
    """The measurements of this server."""

    measurements: list[Measurement]
    kinds: list[str] = Field(description="Kinds to start with POST /api/v1/measurements/KIND.")
    refused: str = Field(description="Why this server cannot measure; empty where it can.")


class SettingRow(Document):
    """A setting of a storage test."""

    name: str
    value: str
    small: str = Field(description="Its value with `small`.")
    about: str


class ProfileRow(Document):
    """A storage test."""

    name: str
    report: str = Field(description="The report that the test is from; empty if it is our own.")
    does: str
    writes: str
    needs: str
    takes_paths: bool
    settings: list[SettingRow]


class ProfileList(Document):
    """The storage tests."""

    profiles: list[ProfileRow]


class TraceList(Document):
    """The traces that can be replayed."""

    traces: list[TraceRow]
