"""The report of an experiment: one self-contained HTML file, with figures and series as files."""

FILE = "report.html"
FIGURES = "figures"  # the directory of its pictures
