"""The counters of an array as CSV, over the time of a test."""

import time
from pathlib import Path

NAME, UNIT, MEAN = "array1 reads", "ops/s", 30.0  # as results have them


def array_files(directory: Path) -> tuple[Path, Path]:
    """The CSV, with a row for each second of an hour around now, and the map of its columns."""
    now = int(time.time())
    file, mapping = directory / "array.csv", directory / "array.toml"
    file.write_text("when,reads\n" + "".join(f"{now + second},{MEAN:g}\n" for second in range(-1_800, 1_800)))
    mapping.write_text(
        f'name = "array1"\n[csv]\ntime = "when"\nformat = "unix"\n[[column]]\ncolumn = "reads"\nunit = "{UNIT}"\n'
    )
    return file, mapping


def options(directory: Path) -> tuple[str, ...]:
    """Of a command that measures."""
    file, mapping = array_files(directory)
    return ("--array", str(file), "--array-map", str(mapping))
