"""The emulated filer of workers in containers, watched from a container beside them that shares their arbiter."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from controller.cluster.containers import Project, engine_faults, remove
from controller.cluster.tending import last_words
from core.errors import SystemFault

COMMAND = ("python", "-m", "controller.filer.watch")
START_SECONDS = 30.0
GRACE_SECONDS = 10
_POLL_SECONDS = 0.1


class ContainerWatch:
    """A `controller.filer.emulated.Watch` that is a container."""

    def __init__(self, project: Project, name: str) -> None:
        self._container = project.get(name)
        self.began = 0.0
        self._wait()

    def figures(self) -> dict[str, Any]:
        """`filer` for a result, up to now; the watch ends with it. Raises SystemFault when there is none."""
        with engine_faults():
            self._container.stop(timeout=GRACE_SECONDS)
            # Whole and not its tail: of a line over 16 KB, which minutes of series are, the engine makes several.
            said = self._container.logs(stdout=True, stderr=False)
        try:
            figures = dict(json.loads(said.splitlines()[-1]))
        except (ValueError, IndexError) as error:
            raise SystemFault(f"the emulated filer was not observed: {last_words(self._container)}") from error
        self.began = float(figures.pop("began"))
        return figures

    def close(self) -> None:
        """Remove the container."""
        remove(self._container, 0)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with engine_faults():
                if self._container.logs(stdout=True, stderr=False):
                    return
                self._container.reload()
            if self._container.attrs.get("RestartCount") or time.monotonic() > deadline:
                raise SystemFault(f"the emulated filer cannot be observed: {last_words(self._container)}")
            time.sleep(_POLL_SECONDS)


@contextmanager
def watching_container(project: Project, start: Callable[[], str]) -> Iterator[ContainerWatch]:
    """Watch through the container that `start` makes and names, while the block lasts. Raises SystemFault."""
    name = start()
    try:
        watch = ContainerWatch(project, name)
    except BaseException:
        remove(project.get(name), 0)
        raise
    try:
        yield watch
    finally:
        watch.close()
