"""The capacity model: what more workers, more databases or another filer would do."""

DEFAULT_RAW_GB = 45.0  # report R1's data set
DEFAULT_SLOTS = 4  # of a worker, as it has them unless told otherwise
