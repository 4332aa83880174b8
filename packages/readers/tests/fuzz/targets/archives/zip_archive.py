"""zip: the directory, the local headers, and what is salvaged without them."""

from reading import files, handler

read = handler("application/zip")
SEEDS = files(".zip")
