"""The environment variables that our programs read, each described once: docs/settings.md is generated from them.

Those that only containers use (ports, images, users) are in .env.example."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable; `default`: the text that has the same effect as no value, if there is one."""

    name: str
    meaning: str  # Markdown; links are from docs/
    default: str = ""


_ALL = (
    Variable("EDBENCH_STORAGE", "the storage root: point it at the filer under test", "./edbench-storage"),
    Variable(
        "EDBENCH_SCRATCH",
        "local directory for the embedded services and for index building; never the filer",
        "./.edbench",
    ),
    Variable(
        "EDBENCH_DATABASES",
        "`name=postgresql+psycopg2://…`, comma-separated; jobs go to the first, groups to the first D; unset: embedded,"
        " a server for each",
    ),
    Variable("EDBENCH_BROKER", "`redis://…`; needed with `EDBENCH_DATABASES`"),
    Variable(
        "EDBENCH_LOGIN_FILE",
        "a file with `user:password`, for those of these URLs without a login; a URL without a password is refused "
        "([logins.md](logins.md))",
    ),
    Variable("EDBENCH_SLOTS", "tasks at a time in each worker, 1 or more", "4"),
    Variable("EDBENCH_INDEX_ENGINE", "`tantivy` or `whoosh`", "tantivy"),
    Variable(
        "EDBENCH_FILER",
        "emulated filer: `titan`, `nas-1g`, `nas-10g`, `cloud-nas` or a file ([filer.md](filer.md)); every result shows it first",
        "none",
    ),
    Variable(
        "EDBENCH_FILER_ARBITER",
        "directory for the emulated filer's queues that workers of several containers of one host share; unset: the"
        " host's shared memory",
    ),
    Variable(
        "EDBENCH_FILER_CACHE",
        "size of the filer's own cache, such as `16GB` (`0B`: none), for the label `CACHED` "
        "([labels.md](labels.md)); unset: unknown",
    ),
    Variable(
        "EDBENCH_REMOUNT",
        "of a worker: a TOML file with the commands that mount the storage with other options for `bench sweep`"
        " ([experiments.md](experiments.md#mount-options)); unset: none",
    ),
    Variable("EDBENCH_SLOT_MEMORY_MB", "private memory of a slot, in MB", "1024"),
    Variable("EDBENCH_STALL_S", "seconds without progress outside an item after which a slot is killed", "600"),
    Variable("EDBENCH_GRACE_S", "seconds that a running task gets to finish when its worker is stopped", "10"),
    Variable(
        "EDBENCH_PLUGINS",
        "modules with readers for more formats, comma-separated; [packages/readers](../packages/readers/README.md) "
        "shows how to write one",
    ),
    Variable(
        "EDBENCH_TOKEN",
        "token of the web UI and the API, 16 characters or more; unset: generated, in `page-token` in scratch",
    ),
    Variable("EDBENCH_TOKEN_FILE", "a file with that token, if `EDBENCH_TOKEN` is not set"),
    Variable(
        "EDBENCH_WEB_ADDRESS",
        "set in containers: `ADDRESS:PORT` of the host at which the web UI is published; sign-in links are printed "
        "if that is loopback",
    ),
    Variable("EDBENCH_GRAFANA_ADDRESS", "set in containers: the same for Grafana"),
    Variable(
        "EDBENCH_CORPORA",
        "directories besides the storage root from which the web UI offers sources, separated by colons",
    ),
    Variable(
        "EDBENCH_PRODUCTIONS",
        "directories besides the storage root to which extractions and exports of the web UI and the API may write, separated"
        " by colons",
    ),
    Variable(
        "EDBENCH_HASH_LISTS",
        "directories besides `hash-lists` of the storage root whose files the web UI offers as lists of known software"
        " files, separated by colons",
    ),
    Variable(
        "EDBENCH_TARGETS",
        "directories besides the storage root in which the web UI and the API may run storage tests, separated by colons",
    ),
    Variable(
        "EDBENCH_BOX",
        "`off`: parse files in the slots themselves, with all rights of a slot, to measure the cost of the "
        "sandbox; the result is labelled",
        "on",
    ),
    Variable(
        "EDBENCH_OBSERVE",
        "`off`: record no storage calls and observe nothing, to measure their cost; such a result has no calls and "
        "is labelled",
        "on",
    ),
    Variable("EDBENCH_METRICS_PORT", "first Prometheus port, 0: none ([metrics.md](metrics.md))", "0"),
    Variable("EDBENCH_METRICS_ADDRESS", "address of the Prometheus port", "127.0.0.1"),
    Variable("EDBENCH_LOG_LEVEL", "`DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`", "WARNING"),
    Variable("EDBENCH_DEBUG", "`1`: tracebacks", "0"),
    Variable("EDBENCH_NULL", "memory file system that the workers of a host share, for null storage", "/dev/shm"),
)

VARIABLES = {variable.name: variable for variable in _ALL}
