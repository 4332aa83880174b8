"""The report's sections, one file each; `experiments.report.page` puts them in order."""
