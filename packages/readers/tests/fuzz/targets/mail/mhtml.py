"""mhtml: a saved page with its pictures."""

from reading import files, handler

read = handler("multipart/related")
SEEDS = files(".mht", ".eml")
