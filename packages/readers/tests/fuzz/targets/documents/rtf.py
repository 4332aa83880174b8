"""rtf: control words, text, objects and pictures."""

from reading import files, handler

read = handler("application/rtf")
SEEDS = files(".rtf")
