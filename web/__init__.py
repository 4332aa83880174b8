"""The web application: pages and HTTP API over jobs, items, exceptions and results."""

HOST = "127.0.0.1"  # to listen on, unless another is given
