"""Panels of slots and hosts, and of what the kernels say of the filer."""

from __future__ import annotations

from monitoring.grafana.model import Panel, Query
from monitoring.grafana.queries import WORKERS, of_host, rate

HOSTS = (
    Panel(
        title="Busy slots",
        unit="short",
        stacked=True,
        queries=(Query(rate("edbench_slot_busy_seconds_total", "instance"), "{{instance}}"),),
    ),
    Panel(
        title="Share of slots busy, by phase",
        unit="percentunit",
        stacked=True,
        most=1,
        queries=(
            Query(
                f"{rate('edbench_slot_busy_seconds_total', 'phase')}"
                f" / on () group_left () sum(edbench_slots{{{WORKERS}}})",
                "{{phase}}",
            ),
        ),
    ),
    Panel(
        title="Worker CPU",
        unit="percentunit",
        note="Share of the cores that the worker may use.",
        queries=(
            Query(
                f"{rate('edbench_worker_cpu_seconds_total', 'instance')}"
                f" / sum by (instance) (edbench_worker_cores{{{WORKERS}}})",
                "{{instance}}",
            ),
        ),
    ),
    Panel(
        title="Run-queue delay",
        unit="suffix: s/s",
        note="Seconds per second that threads of a worker waited for a core. Where it is high, the latencies"
        " above are the host's and not the filer's.",
        queries=(Query(rate("edbench_worker_run_queue_seconds_total", "instance"), "{{instance}}"),),
    ),
)
_READS = 'op="read"'
FILER = (
    Panel(
        title="Wire ops",
        unit="ops",
        stacked=True,
        note="NFS, by the kernels' counters; each mount once for each host.",
        queries=(Query(of_host("edbench_wire_ops_total", "op"), "{{op}}", only="nfs"),),
    ),
    Panel(
        title="Wire: mean round trip, and wait to be sent",
        unit="s",
        queries=(
            Query(
                f"{of_host('edbench_wire_rtt_seconds_total', 'op')} / {of_host('edbench_wire_ops_total', 'op')}",
                "{{op}}",
                only="nfs",
            ),
            Query(
                f"{of_host('edbench_wire_queue_seconds_total', 'op')} / {of_host('edbench_wire_ops_total', 'op')}",
                "{{op}}, queue",
                only="nfs",
            ),
        ),
    ),
    Panel(
        title="Wire-read ÷ call-read",
        unit="percentunit",
        note="Under 1, clients' caches served the rest.",
        queries=(
            Query(
                f"sum({of_host('edbench_wire_read_bytes_total')}) / {rate('edbench_call_bytes_total', '', _READS)}",
                "share",
                only="nfs",
            ),
        ),
    ),
    Panel(
        title="Wire: sent again, timed out",
        unit="suffix: /s",
        queries=(
            Query(
                f"sum({of_host('edbench_wire_transmissions_total', 'op')})"
                f" - sum({of_host('edbench_wire_ops_total', 'op')})",
                "sent again",
                only="nfs",
            ),
            Query(f"sum({of_host('edbench_wire_timeouts_total', 'op')})", "timed out", only="nfs"),
        ),
    ),
    Panel(
        title="Disks: bytes",
        unit="Bps",
        note="The disks of the storage root and of scratch, where these are local.",
        queries=(
            Query(of_host("edbench_block_read_bytes_total"), "{{host}} {{device}} read", only="disk"),
            Query(of_host("edbench_block_written_bytes_total"), "{{host}} {{device}} written", only="disk"),
        ),
    ),
    Panel(
        title="Disks: mean queue depth",
        unit="short",
        queries=(Query(of_host("edbench_block_queued_seconds_total"), "{{host}} {{device}}", only="disk"),),
    ),
)
