"""xml: text of markup."""

from reading import files, handler

read = handler("text/xml")
SEEDS = files(".xml", ".svg", ".xhtml")
