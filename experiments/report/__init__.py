"""The report of an experiment: one self-contained page, with figures and series beside it."""

from experiments.report.page import write_report

__all__ = ["write_report"]
