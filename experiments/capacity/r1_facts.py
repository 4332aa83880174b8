"""What report R1 says, and what is done with each figure: fitted, taken as given, anchored, or held out as a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published run. With several databases the same data set is a job on each, all at once."""

    workers: int
    databases: int
    elapsed_s: float

    @property
    def gb_per_hour(self) -> float:
        """Discovered GB of all jobs over the elapsed time."""
        return GB_DISCOVERED * self.databases / self.elapsed_s * 3600


# Fitted: the elapsed times, and nothing else. The second database row says 6:22:14.
ROWS = (
    Row(workers=10, databases=1, elapsed_s=6 * 3600 + 24 * 60 + 55),
    Row(workers=30, databases=1, elapsed_s=4 * 3600 + 45 * 60 + 36),
    Row(workers=30, databases=2, elapsed_s=6 * 3600 + 22 * 60 + 14),
)

# Given: the data set and the test bed.
GB_RAW, GB_DISCOVERED, GB_INDEX = 45.0, 75.0, 10.0  # the index is not in the report; it matters to the link alone
ITEMS = 1_000_000
SLOTS_EACH, PROCESSORS_EACH, CORES = 4, 2, 44  # 30 workers have 60 processors on 44 cores
LINK_BYTES_PER_S = 375e6  # 3 x 1 GbE
SECOND_DATABASE = (2 * 2.0 / (8 * 3.16), 1.0)  # its speed: by cores and clock, or no slower at all
DATABASE_FILER_OPS = 1000.0  # iSCSI operations a second of a busy database, on the same filer

# Anchored: elapsed times cannot say what an operation is. The first snapshot says it, so it is no check of the costs.
ANCHOR_OPS, ANCHOR_FSA, ANCHOR_FSB = 39_000.0, 0.99, 0.60


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One held-out figure: passed between `low` and `high`. "About" is taken as 20 %, a peak as 10 %."""

    name: str
    says: str
    published: str
    low: float
    high: float
    unit: str = ""
    one_sided: bool = False  # any value on the right side of one bound is as good
    two_databases: bool = False  # needs the run with two
    anchored: bool = False  # the ceiling is the anchor's; only whether the run reaches it is the model's


CHECKS = (
    Check(name="peak_10", says="peak, 10 workers", published="27,000", low=24.3, high=29.7, unit="K op/s"),
    Check(
        name="peak_30", says="peak, 30 workers", published="39,000", low=35.1, high=42.9, unit="K op/s", anchored=True
    ),
    Check(name="plateau_1", says="plateau, 1 database", published="about 30", low=24, high=36, unit="min"),
    Check(
        name="plateau_2", two_databases=True, says="plateau, 2 databases", published="45", low=36, high=54, unit="min"
    ),
    Check(name="middle", says="at half time, 30 workers", published="about 20,000", low=16, high=24, unit="K op/s"),
    Check(name="late", says="at 90 % of the time, 30 workers", published="10,000", low=8, high=12, unit="K op/s"),
    Check(
        name="fsa_peak",
        one_sided=True,
        says="FSA on the plateau",
        published="99 %",
        low=95,
        high=100,
        unit="%",
        anchored=True,
    ),
    Check(name="fsa_26k", says="FSA, second phase at 26,000 op/s", published="mid-50s", low=50, high=60, unit="%"),
    Check(name="fsb_26k", says="FSB, second phase at 26,000 op/s", published="mid-40s", low=40, high=50, unit="%"),
    Check(
        name="fsb_end", one_sided=True, says="FSB less FSA at the end", published="over 0", low=0.5, high=100, unit="%"
    ),
    Check(
        name="sql_later",
        one_sided=True,
        says="SQL peak begins later, 10 workers",
        published="later",
        low=1,
        high=1e6,
        unit="min",
    ),
    Check(
        name="sql_falls",
        one_sided=True,
        says="SQL after primary discovery / peak",
        published="falls sharply",
        low=0,
        high=50,
        unit="%",
    ),
)
