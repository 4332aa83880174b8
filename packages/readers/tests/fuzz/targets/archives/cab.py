"""cab: cabinets of one stored folder."""

from archive_files import cabinet
from reading import handler

read = handler("application/vnd.ms-cab-compressed")
SEEDS = [cabinet([("a.txt", b"some content")])]
