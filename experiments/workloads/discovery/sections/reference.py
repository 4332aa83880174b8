"""The figures of report R1 (IPRO eCapture 3.3.0 on a BlueArc Titan 3201) that are shown next to ours."""

from __future__ import annotations

from dataclasses import dataclass

TITLE = "IPRO eCapture 3.3.0 on a BlueArc Titan 3201 (report R1)"
LEAST_FILER_OPS_AN_ITEM = 70  # 70 million operations in the plateau alone, for about a million items


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRun:
    """One row of R1's tables, as printed."""

    databases: int
    workers: int
    elapsed: str
    elapsed_s: int
    before_gb: int
    after_gb: int
    gb_per_hour: float


_THIRTY = ReferenceRun(
    databases=1, workers=30, elapsed="4:45:36", elapsed_s=17136, before_gb=45, after_gb=75, gb_per_hour=15.8
)
SCALE_UP = (
    ReferenceRun(
        databases=1, workers=10, elapsed="6:24:55", elapsed_s=23095, before_gb=45, after_gb=75, gb_per_hour=11.5
    ),
    _THIRTY,
)
SCALE_OUT = (
    _THIRTY,
    ReferenceRun(
        databases=2, workers=30, elapsed="6:22:14", elapsed_s=22934, before_gb=90, after_gb=150, gb_per_hour=23.6
    ),
)
