"""cpio: the portable formats."""

from archive_files import cpio
from reading import handler

read = handler("application/x-cpio")
SEEDS = [cpio([("a.txt", b"content")])]
