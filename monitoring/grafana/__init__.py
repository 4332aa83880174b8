"""Grafana dashboards, generated: `python -m monitoring.grafana` writes dashboards/*.json beside this file."""
