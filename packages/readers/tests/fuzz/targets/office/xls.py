"""xls: BIFF records of a workbook."""

from reading import files, handler

read = handler("application/vnd.ms-excel")
SEEDS = files(".xls")
