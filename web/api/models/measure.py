"""Measurements and storage profiles."""

from __future__ import annotations

from pydantic import Field

from core.document import Document
from web.measuring.runs import Measurement
from web.measuring.traces import TraceRow


class MeasurementList(Document):
    """What was started here."""

    measurements: list[Measurement]
    kinds: list[str] = Field(description="What can be measured: POST /api/v1/measurements/KIND.")
    refused: str = Field(description="Why nothing can be measured here; empty where something can.")


class SettingRow(Document):
    """A setting of a storage profile."""

    name: str
    value: str
    small: str = Field(description="What it is with `small`.")
    about: str


class ProfileRow(Document):
    """A storage profile."""

    name: str
    report: str = Field(description="Whose test it is; empty: ours.")
    does: str
    writes: str
    needs: str
    takes_paths: bool
    settings: list[SettingRow]


class ProfileList(Document):
    """Those that there are."""

    profiles: list[ProfileRow]


class TraceList(Document):
    """What can be replayed."""

    traces: list[TraceRow]
