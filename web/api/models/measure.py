"""Measurements."""

from __future__ import annotations

from pydantic import Field

from core.document import Document
from web.measuring.runs import Measurement


class MeasurementList(Document):
    """The measurements of this server."""

    measurements: list[Measurement]
    kinds: list[str] = Field(description="Kinds to start with POST /api/v1/measurements/KIND.")
    refused: str = Field(description="Why this server cannot measure; empty where it can.")
