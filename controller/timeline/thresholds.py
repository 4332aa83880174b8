"""From where on something counts as the limit of a run, or keeps a verdict on the storage from being given (design §4)."""

from __future__ import annotations

# Labels of results and of what runs.
CPU_SHARE = 0.80  # of all CPUs, by the workers
RUN_QUEUE_SHARE = 0.10  # of the time inside storage calls
STORAGE_SHARE = 0.23  # of elapsed, 1 − null ÷ elapsed: under it (elapsed under 1.3 x null) the storage hardly mattered
CACHE_FACTOR = 3  # discovered bytes under so many times what caches can hold
CACHED = "CACHED: not a storage result"
LIMITED = "GENERATOR-LIMITED"
DOMINATED_MARK = "†"  # of a percentile that waiting for a core dominates
SHORT = "SHORT: not a storage result"
UNSTEADY = "NOT STEADY: not a storage result"

# What limits a run now.
WINDOW_SECONDS = 10.0  # that is looked back over
EVIDENCE_SECONDS = 5.0  # of the present phase, before a limit is named
ENDED_SECONDS = 2.0  # the same of a phase that is over, all of which is known
CPU_LIMIT = 0.90  # of a host's CPUs, by its workers
CPU_LOW = 0.70  # above it the storage is never named
CORE_WAIT = 0.25  # of busy slot time waiting for a CPU: too few of them, whichever programs use the others
BUSY_SLOTS = 0.75  # from here on slots have enough to do
MOST_OF_TIME = 0.50  # of busy slot time in storage calls, or in transactions: that is what slots wait for
