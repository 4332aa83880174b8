"""Observation of jobs: metrics, wire counters, places, traces."""
