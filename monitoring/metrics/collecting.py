"""What Prometheus's client library asks of whoever has metrics. The library comes when a process is to answer: it brings a server
and a client of HTTP, and most processes answer nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
else:
    Collector, Metric = object, Any

__all__ = ["Collector", "Metric"]
