"""What Prometheus scrapes: one catalogue of metrics, and the collectors that the roles put together from it."""
