"""The options of every experiment that measures: how its members come, the array's own counters, files for automation."""

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
    """What a command that runs discoveries takes, and the web UI that it serves meanwhile."""

    passwords: opt.Passwords = None
    storage: opt.StorageRoot = None
    serve: opt.Serve = False
    serve_port: opt.ServePort = opt.PORT

    @property
    def page(self) -> int | None:
        """The web UI's port; None: it is not served."""
        return self.serve_port if self.serve else None


class Experiment(Automation):
    """A command's base class for its own options, or their group."""

    listen: opt.Listen = None
    wait: opt.Wait = None
    array: opt.ArrayFile = None
    array_map: opt.ArrayMapFile = None
    array_offset: opt.ArrayOffset = 0.0

    @property
    def ways(self) -> Ways:
        """Raises UsageError."""
        from experiments.crew.system import Ways

        return Ways(listen=self.listen, wait=self.wait)

    def counters(self, context: CommandContext) -> Array | None:
        """Where the array's counters are; None where none are asked for. Raises UsageError."""
        if self.array is None and self.array_map is None:
            return None
        from cli.counters import meaning
        from controller.arrays.mapping import is_collected
        from experiments.arrays import Array

        if self.array_map is None and self.array is not None and not is_collected(self.array):
            raise UsageError("--array-map is missing: give a file that describes the columns", field="array_map")
        mapping = meaning(self.array, self.array_map, None)
        return Array(mapping=mapping, file=self.array, offset_s=self.array_offset, env=context.env)
