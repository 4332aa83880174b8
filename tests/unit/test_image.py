"""What the image is made from, and what style is checked of, is what the package is made of."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _rooms() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return set(project["tool"]["uv"]["build-backend"]["module-name"])


def test_every_room_of_the_package_is_in_the_image() -> None:
    rooms = _rooms()
    copied = {line.split()[1] for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")}
    let_in = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines()}
    assert rooms - copied == set()
    # Their requirements are installed before their files are copied: a change of those installs nothing again.
    assert {str(path.relative_to(ROOT)) for path in ROOT.glob("packages/*/pyproject.toml")} - copied == set()
    assert rooms - let_in == set()


def test_every_room_of_the_package_is_linted() -> None:
    (line,) = (line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("LINTED ="))
    assert _rooms() - set(line.replace(")", " ").split()) == set()
