"""emlx: Apple's frame around a message."""

from reading import files, handler

read = handler("message/x-emlx")
SEEDS = files(".emlx")
