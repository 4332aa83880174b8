"""hwp: sections and what lies in BinData."""

from hwp_file import hwp
from reading import files, handler

read = handler("application/x-hwp")
SEEDS = [*files(".hwp"), hwp("one", "two", flags=0, BIN0001_png=b"\x89PNG"), hwp("packed")]
