"""The web application: pages and HTTP API over jobs, items, exceptions and results."""
