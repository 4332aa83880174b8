"""The interface that Prometheus's client library requires of a source of metrics. A process imports the library only
when it is to be scraped: it brings a server and a client of HTTP, and most processes are never scraped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
else:
    Collector, Metric = object, Any

__all__ = ["Collector", "Metric"]
