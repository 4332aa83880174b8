"""eml: header fields, parts, encodings."""

from reading import files, handler

read = handler("message/rfc822")
SEEDS = files(".eml")
