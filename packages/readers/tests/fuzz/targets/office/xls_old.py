"""xls-2-4: BIFF records without a compound file."""

from reading import handler

read = handler("application/vnd.ms-excel.sheet.4")
SEEDS = [bytes.fromhex("0904060000001000000004020b0000000000000003006162630a000000")]
