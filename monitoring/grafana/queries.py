"""How the panels ask: rates over the chosen workers, and of what all workers of a host see alike."""

from __future__ import annotations

from monitoring.grafana.model import Query

PERCENTILES = (("p50", "0.5"), ("p95", "0.95"), ("p99", "0.99"))
WORKERS = 'instance=~"$worker"'


def rate(metric: str, by: str = "", *labels: str) -> str:
    """Growth per second of a counter over all chosen workers, by a label."""
    total = f"sum by ({by}) " if by else "sum"
    return f"{total}(rate({metric}{{{', '.join((WORKERS, *labels))}}}[$__rate_interval]))"


def of_host(metric: str, by: str = "") -> str:
    """The same for what every worker of a host sees alike: of each host and device the most that one saw."""
    keys = f"host, device{', ' if by else ''}{by}"
    return f"sum by ({by or 'host, device'}) (max by ({keys}) (rate({metric}[$__rate_interval])))"


def quantiles(metric: str, by: str, selector: str) -> list[Query]:
    rate = f"sum by ({by}, le) (rate({metric}_bucket{{{selector}}}[$__rate_interval]))"
    return [
        Query(f"histogram_quantile({q}, {rate})", f"{name} {{{{{by}}}}}".replace(" {{op}}", ""))
        for name, q in PERCENTILES
    ]
