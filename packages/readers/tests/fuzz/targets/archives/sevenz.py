"""7z: signature, headers and folders."""

from reading import files, handler

read = handler("application/x-7z-compressed")
SEEDS = files(".7z")
