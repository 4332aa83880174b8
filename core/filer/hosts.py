"""Who may use one emulated filer together: those who have its arbiter in common."""

from __future__ import annotations

from collections.abc import Collection


def no_common_arbiter(database: str, hosts: Collection[tuple[str, str]], arbiter: str) -> str | None:
    """Why workers on these (host name, boot id) have no arbiter in common, with what to do; None where they have.

    Workers of one kernel share its memory; containers do not unless `arbiter` (EDBENCH_FILER_ARBITER) names a
    directory that is the same for all of them.
    """
    if len({boot for _, boot in hosts}) > 1:
        return (
            f"the workers of {database} run on several hosts ({', '.join(sorted(host for host, _ in hosts))}),"
            " which cannot share one emulated filer; run them on one host, or without an emulated filer"
        )
    if len({host for host, _ in hosts}) > 1 and not arbiter:
        return (
            f"the workers of {database} run in several containers; set EDBENCH_FILER_ARBITER"
            " to a directory that all of them and this command share"
        )
    return None
