"""vcf: content lines of contacts."""

from reading import files, handler

read = handler("text/vcard")
SEEDS = files(".vcf")
