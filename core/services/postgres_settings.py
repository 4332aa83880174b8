"""PostgreSQL's settings: those of a small server that shares its machine with the work, and keeps its promises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.roles import WORKER, login_name

# Who is let in: over the socket whoever has a password, from other hosts the workers alone.
ADMISSION = f"local all all scram-sha-256\nhost all {login_name(WORKER)} all scram-sha-256\n"
_SPARE = 50  # connections beside the slots': queue manager, workers' supervisors, controller, web page, people
_LEAST = 200  # a second command with more slots may attach; an unused connection costs next to nothing


def connections_for(slots: int) -> int:
    """`max_connections` for so many slots: two each, and some to spare."""
    return max(_LEAST, 2 * slots + _SPARE)


def listening(address: str, port: int, admission: Path) -> dict[str, str]:
    """Settings of a server that other hosts reach, too; `admission`: a file that has `ADMISSION`."""
    return {"listen_addresses": address, "port": str(port), "hba_file": str(admission)}


def server_arguments(socket_dir: Path, max_connections: int, afar: Mapping[str, str] | None = None) -> list[str]:
    """The command-line settings of the server. `fsync`, `full_page_writes` and `synchronous_commit` keep their
    safe defaults: a crash loses nothing that was committed, except where a transaction asks for less.

    `afar`: what `listening` gives, for a server that other hosts reach.
    """
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(socket_dir),
        "unix_socket_permissions": "0700",
        "max_connections": str(max_connections),
        "password_encryption": "scram-sha-256",
        "scram_iterations": "1",  # they slow down who guesses; these passwords are 192 random bits, new with each keeper
        # memory: modest, the machine's page cache belongs to the files being measured
        "shared_buffers": "256MB",
        "work_mem": "16MB",
        "maintenance_work_mem": "128MB",
        "effective_cache_size": "1GB",
        # no parallel queries: they need /dev/shm, small in containers, and take processors from the slots
        "max_parallel_workers_per_gather": "0",
        "max_parallel_maintenance_workers": "0",
        "io_method": "sync",
        "jit": "off",
        "random_page_cost": "1.1",
        # write-ahead log: no replicas, few checkpoints
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_logical_replication_workers": "0",
        "max_wal_size": "2GB",
        "min_wal_size": "256MB",
        "checkpoint_timeout": "15min",
        # one gentle vacuum worker: the ledger's updated rows need it, the measurement does not
        "autovacuum_max_workers": "1",
        "log_timezone": "UTC",
        "timezone": "UTC",
        "lc_messages": "C",
        "log_min_messages": "warning",
        "log_line_prefix": "%m [%p] ",
        "logging_collector": "off",
        "cluster_name": "edbench",
        **(afar or {}),
    }
    return [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
