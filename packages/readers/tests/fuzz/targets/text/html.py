"""html: text and title of a page."""

from reading import files, handler

read = handler("text/html")
SEEDS = files(".html", ".htm")
