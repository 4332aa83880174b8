"""Options of searches for duplicates and near-duplicates: scope, unit of comparison, thresholds."""

from __future__ import annotations

import enum

LOWEST, USUAL = 0.5, 0.8  # thresholds of near-duplicates: below the lowest nearly every text is a candidate


class Scope(enum.StrEnum):
    """The scope within which items are compared."""

    JOB = "job"  # each job by itself; jobs over parts of one source (a sharded group) are one
    CUSTODIAN = "custodian"  # each custodian of each job
    JOBS = "jobs"  # all named jobs together


class By(enum.StrEnum):
    """The unit of comparison."""

    ITEM = "item"
    FAMILY = "family"
