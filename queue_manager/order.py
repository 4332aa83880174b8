"""The order within a job: the heaviest pending task first, of equally heavy ones the one with the smaller id.

`sql/queries/tasks.sql` (dispatch) chooses by the same key, `ORDER BY weight DESC, id`, because only the database has all
pending tasks; the simulation orders its tasks with this function. Ids are random in the database and count up in a simulation.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

_Id = TypeVar("_Id", covariant=True)


class _Ordered(Protocol[_Id]):
    @property
    def weight(self) -> int: ...

    @property
    def id(self) -> _Id: ...


def order_key(task: _Ordered[_Id]) -> tuple[int, _Id]:
    """Tasks are dispatched in ascending order of it."""
    return (-task.weight, task.id)
