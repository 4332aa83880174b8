"""doc: the piece table and the stories of a Word 97 document."""

from reading import files, handler

read = handler("application/msword")
SEEDS = files(".doc")
