"""The report of a study: one self-contained page, with figures and series beside it."""

FILE = "report.html"
FIGURES = "figures"  # the folder beside it with its pictures
