"""Counters of the array itself, imported from a CSV file or from Prometheus onto a job's time axis (design §4)."""
