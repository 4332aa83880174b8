"""Options of searches for duplicates and near-duplicates: scope, unit of comparison, thresholds."""

from __future__ import annotations

import enum

LOWEST, USUAL = 0.5, 0.8  # thresholds of near-duplicates: below the lowest nearly every text is a candidate


class Scope(enum.StrEnum):
    """Within which items have to be equal to be duplicates."""

    JOB = "job"  # each job by itself; jobs over parts of one source (a sharded group) are one
    CUSTODIAN = "custodian"  # each custodian of each job
    JOBS = "jobs"  # all that are named, together


class By(enum.StrEnum):
    """What is compared."""

    ITEM = "item"
    FAMILY = "family"
