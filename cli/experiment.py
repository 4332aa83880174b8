"""Common options of all experiments: members, the array's own counters, files for automation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli import options as opt
from cli.automation import Automation
from core.document import Order
from core.errors import UsageError

if TYPE_CHECKING:
    from cli.context import CommandContext
    from experiments.arrays import Array
    from experiments.crew.system import Ways


class Discovering(Order):
    """The options of a command that runs discoveries, and of the web UI that it serves meanwhile."""

    passwords: opt.Passwords = None
    storage: opt.StorageRoot = None
    serve: opt.Serve = False
    serve_port: opt.ServePort = opt.PORT

    @property
    def page(self) -> int | None:
        """The port of the web UI; None: it is not served."""
        return self.serve_port if self.serve else None


class Experiment(Automation):
    """Base class for the options of a command, or a group of them."""

    listen: opt.Listen = None
    wait: opt.Wait = None
    array: opt.ArrayFile = None
    array_map: opt.ArrayMapFile = None
    array_offset: opt.ArrayOffset = 0.0

    @property
    def ways(self) -> Ways:
        """The ways in which members join. Raises UsageError."""
        from experiments.crew.system import Ways

        return Ways(listen=self.listen, wait=self.wait)

    def counters(self, context: CommandContext) -> Array | None:
        """The array's counters; None if none are requested. Raises UsageError."""
        if self.array is None and self.array_map is None:
            return None
        from cli.counters import meaning
        from controller.arrays.mapping import is_collected
        from experiments.arrays import Array

        if self.array_map is None and self.array is not None and not is_collected(self.array):
            raise UsageError("--array-map is missing: give a file that describes the columns", field="array_map")
        mapping = meaning(self.array, self.array_map, None)
        return Array(mapping=mapping, file=self.array, offset_s=self.array_offset, env=context.env)
