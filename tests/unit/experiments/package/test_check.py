"""A package is what was observed: whoever changes a figure, a label or an observation of it is found out."""

import dataclasses
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from result_packages import Forgery, edit_json, of_observed, of_result, package

from core.errors import RunFailed, UsageError
from experiments.kinds import kind_of, knee, sweep
from experiments.package.check import check, differing, same_text
from experiments.package.manifest import MANIFEST, SIGNATURE, broken, seal, sign
from experiments.result.codec import FILE, read_result
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.result import PointSpec


@pytest.fixture
def another(genuine: Path, tmp_path: Path) -> Path:
    """A result of another study."""
    (tmp_path / "another").mkdir()
    data = json.loads((genuine / FILE).read_text()) | {"run_id": "another"}
    (tmp_path / "another" / FILE).write_text(json.dumps(data))
    return tmp_path / "another"


def test_an_unchanged_package_checks(genuine: Path) -> None:
    """Every figure, label, verdict, report and series comes out again; what cannot is named; sha256sum agrees."""
    found = check(genuine)
    assert found.differences == ()
    assert found.signed is None
    assert any("items, bytes" in line for line in found.trusted)
    reported = subprocess.run(["sha256sum", "--strict", "-c", MANIFEST], cwd=genuine, capture_output=True, check=False)
    assert reported.returncode == 0
    result = json.loads((genuine / FILE).read_text())
    assert result["points"][0]["repeats"][0]["result"]["calls"]["read"]["count"] == 400
    assert result["points"][0]["figures"]["storage_share"]["n"] == 2


def test_a_search_is_gone_through_again(tmp_path: Path) -> None:
    made = package(tmp_path, plan=knee([PointSpec(1, 1, 1)], "slots", {"read": 500.0}, most=4, repeats=1))
    assert check(made).differences == ()
    found = read_result(made).knee
    assert found.knee is None
    edit_json(made / "raw" / "study.json", lambda data: data["plan"]["bounds_us"].update(read=5_000.0))
    seal(made)
    assert any(line.startswith("result.json: knee.") for line in check(made).differences)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "knee"}, "the plan of kind knee must have a start"),
        ({"seed": None}, "must have points and a seed"),
        ({"points": [{"workers": "two"}]}, "plan.points"),
        ({"repeats": 10**12}, "1,000,000,000,000 repeats"),
    ],
)
def test_a_plan_that_is_none_is_refused(change: dict[str, Any], message: str) -> None:
    plan = sweep([PointSpec(1, 1, 1)], "slots", [1, 2], repeats=2, seed=1)
    with pytest.raises(UsageError, match=message):
        kind_of(dataclasses.replace(plan, **change), ABOUT)


def _tripled(data: Any) -> None:
    for point in data["points"]:
        for figure in point["figures"].values():
            figure["median"] *= 3


def _repeat_removed(at: Path) -> None:
    """From the result and from what was observed."""
    edit_json(at / FILE, lambda data: data["points"][0]["repeats"].pop())
    (at / "raw" / "runs" / "003.json.gz").unlink()


def _histogram_emptied(observed: Any) -> None:
    """Its slow calls made fast."""
    table = observed["jobs"][0]["tables"]["call_seconds"]
    place = table["columns"].index("histogram")
    for row in table["rows"]:
        row[place] = "AQo="  # ten calls of 1 µs


def _clock_set(observed: Any) -> None:
    observed["jobs"][0]["tables"]["job_times"]["rows"][0][1] -= 20.0


def _appended(name: str, text: str) -> Forgery:
    def forge(at: Path) -> None:
        with (at / name).open("a") as file:
            file.write(text)

    return forge


def _of_another(at: Path) -> None:
    shutil.copy(at.parent / "another" / FILE, at / FILE)


def _swapped(at: Path) -> None:
    runs = at / "raw" / "runs"
    first, second = (runs / f"00{n}.json.gz" for n in range(2))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def _replaced(name: str, old: str, new: str) -> Forgery:
    def forge(at: Path) -> None:
        text = (at / name).read_text()
        assert old in text
        (at / name).write_text(text.replace(old, new))

    return forge


FORGERIES: dict[str, tuple[Forgery, str]] = {
    "medians tripled": (of_result(_tripled), "result.json: points[0].figures.elapsed_s.median is 120"),
    "a warning deleted": (of_result(lambda data: data["warnings"].pop(0)), "result.json: warnings has"),
    "the verdict rewritten": (of_result(lambda data: data.update(verdict="twice as fast")), "verdict is"),
    "a label added": (of_result(lambda data: data["labels"].append("FINE")), "labels has 2 entries; there are 1"),
    "a label deleted": (of_result(lambda data: data["labels"].clear()), "labels has 0 entries; there are 1"),
    "the least length lowered": (
        lambda at: edit_json(at / "raw" / "study.json", lambda data: data.update(min_seconds=1.0)),
        "result.json: points[0].short is true; observed is false",
    ),
    "a repeat removed": (_repeat_removed, "raw/runs/003.json.gz: run 4"),
    "a series of the report edited": (
        _appended("series/runs.csv", "9,9\n"),
        "series/runs.csv: differs from the file computed from the result",
    ),
    "a series of the result edited": (
        of_result(lambda data: data["points"][0]["repeats"][0]["series"]["queue_depth"][0].__setitem__(1, 99)),
        "series.queue_depth[0][1] is 99; observed is 5",
    ),
    "a file added": (lambda at: (at / "figures" / "better.png").touch(), "figures/better.png: not part of this result"),
    "a class of size left out": (
        of_result(lambda data: data["points"][0]["repeats"][0]["latency"]["read"].pop("sizes")),
        'latency.read.sizes is missing; it is {"to 4 KiB": {"calls": 400',
    ),
    "histograms edited": (of_observed(_histogram_emptied), "latency.read.p50_us is"),
    "the end moved": (of_observed(_clock_set), "elapsed_s"),
    "another package's result": (_of_another, "result.json: run_id is"),
    "runs swapped": (_swapped, "raw/runs/000.json.gz is another run"),
    "the report rewritten": (
        _replaced("report.html", "GB/hour", "TB/hour"),
        "report.html: differs from the file computed from the result",
    ),
    "another client": (
        of_result(lambda data: data["conditions"]["hosts"][0].update(memory_bytes=10**12)),
        "conditions.hosts[0].memory_bytes is 1000000000000; observed is 100000000",
    ),
    "a run cut short": (
        lambda at: (at / "raw/runs/000.json.gz").write_bytes((at / "raw/runs/000.json.gz").read_bytes()[:-20]),
        "raw/runs/000.json.gz is damaged",
    ),
    "a run that is none": (
        lambda at: (at / "raw/runs/000.json.gz").write_bytes(gzip.compress(b"[]")),
        "raw/runs/000.json.gz is damaged",
    ),
    "bytes of a run changed": (
        lambda at: (at / "raw/runs/000.json.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 99),
        "raw/runs/000.json.gz is damaged",
    ),
    "a plan without end": (
        lambda at: edit_json(at / "raw/study.json", lambda data: data["plan"].update(repeats=10**12)),
        "1,000,000,000,000 repeats",
    ),
    "no observations": (lambda at: shutil.rmtree(at / "raw"), "raw/study.json does not exist"),
    "a verdict before the verdict": (
        _replaced(FILE, '"verdict": ', '"verdict": "twice as fast", "verdict": '),
        "result.json has a syntax error: an object contains 'verdict' twice",
    ),
    "a plan before the plan": (
        _replaced("raw/study.json", '"min_seconds": ', '"min_seconds": 9999.0, "min_seconds": '),
        "raw/study.json has a syntax error: an object contains 'min_seconds' twice",
    ),
    "a run before the run": (
        lambda at: (at / "raw/runs/000.json.gz").write_bytes(
            gzip.compress(gzip.decompress((at / "raw/runs/000.json.gz").read_bytes()).replace(b"{", b'{"order":9,', 1))
        ),
        "an object contains 'order' twice",
    ),
    "nonsense observed": (
        of_observed(lambda observed: observed.update(offsets=[{}, {}])),
        "from the records: KeyError",
    ),
}


def test_what_a_later_version_reports_of_an_older_ones_observations_is_no_difference() -> None:
    for nothing in ({}, [], None):
        assert list(differing({"calls": 1}, {"calls": 1, "sizes": nothing}, "")) == []
    assert list(differing({"calls": 1}, {"calls": 1, "sizes": {"to 4 KiB": 1}}, "")) != []


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_found(name: str, copied: Path, another: Path) -> None:
    forge, shown = FORGERIES[name]
    forge(copied)
    assert broken(copied)
    seal(copied)
    assert not broken(copied)
    found = check(copied).differences
    assert any(shown in line for line in found), found
    assert all("\n" not in line for line in found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[1:], "not in the manifest"),
        (
            lambda lines: [*lines, f"{'0' * 64}  series/none.csv\n"],
            "series/none.csv: in the manifest, but the file is missing",
        ),
    ],
)
def test_a_manifest_that_states_less_or_more_is_found(
    copied: Path, change: Callable[[list[str]], list[str]], message: str
) -> None:
    lines = (copied / MANIFEST).read_text().splitlines(keepends=True)
    (copied / MANIFEST).write_text("".join(change(lines)))
    assert any(message in line for line in broken(copied))


@pytest.mark.parametrize("name", ["manifest.sha256", "manifest.SHA256.sig", FILE.upper()])
def test_what_is_called_like_a_known_file_but_for_its_case_is_none_of_them(copied: Path, name: str) -> None:
    """Some storage lists names in another case than they were made; where the known file is listed itself, that is not it."""
    (copied / name).write_text("hidden")
    assert broken(copied) == [f"{name}: not in the manifest"]


@pytest.mark.parametrize("line", ["nonsense\n", f"{'0' * 64}  ../outside\n", f"{'0' * 64}  /etc/passwd\n"])
def test_no_manifest_leads_out_of_the_package(copied: Path, line: str) -> None:
    with (copied / MANIFEST).open("a") as file:
        file.write(line)
    with pytest.raises(UsageError, match="expected a hash and the name of a file in the package"):
        check(copied)


def test_a_link_is_no_file_of_a_package(copied: Path) -> None:
    (copied / FILE).rename(copied.parent / "elsewhere.json")
    (copied / FILE).symlink_to(copied.parent / "elsewhere.json")
    assert broken(copied) == [f"{FILE}: in the manifest, but the file is missing"]
    with pytest.raises(RunFailed, match="is a link; a package may contain only files"):
        seal(copied)


def test_what_is_no_package_is_reported_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a result package: it has no MANIFEST"):
        check(tmp_path)
    (tmp_path / "packed.tar.xz").write_bytes(b"")
    with pytest.raises(UsageError, match="is a file; a result package is a directory: unpack it first"):
        check(tmp_path / "packed.tar.xz")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys, `ours` and `theirs`; the signers' file knows the first."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen")
    at = tmp_path_factory.mktemp("keys")
    for name in ("ours", "theirs"):
        line = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(at / name)]
        subprocess.run(line, check=True, capture_output=True)
    (at / "signers").write_text(f"lab@example.org {(at / 'ours.pub').read_text()}")
    (at / "named").write_text(f'"Lab of Example" {(at / "ours.pub").read_text()}')
    return at


def test_a_signature_holds_until_the_manifest_is_written_again(copied: Path, keys: Path) -> None:
    sign(copied, keys / "ours")
    before = (copied / SIGNATURE).read_bytes()
    good = check(copied, keys / "signers")
    assert good.differences == ()
    assert good.signed is not None
    assert "lab@example.org" in good.signed
    assert "SHA256:" in (check(copied).signed or "")
    assert "Lab of Example" in (check(copied, keys / "named").signed or "")
    manifest = (copied / MANIFEST).read_bytes()
    (copied / MANIFEST).write_bytes(manifest.replace(b"\n", b"\r\n"))  # sha256sum finds none of these files
    assert any(f"{SIGNATURE}: not a signature" in line for line in check(copied).differences)
    (copied / MANIFEST).write_bytes(manifest)
    of_observed(_histogram_emptied)(copied)
    seal(copied)
    (copied / SIGNATURE).write_bytes(before)
    for signers in (None, keys / "signers"):
        assert any(f"{SIGNATURE}: not a signature" in line for line in check(copied, signers).differences)


def test_somebody_elses_signature_is_not_ours(copied: Path, keys: Path) -> None:
    assert f"{SIGNATURE}: missing; the package is not signed" in check(copied, keys / "signers").differences
    sign(copied, keys / "theirs")
    assert check(copied).differences == ()
    assert any("signed by none of" in line for line in check(copied, keys / "signers").differences)


@pytest.mark.parametrize(
    ("name", "written", "same"),
    [
        ("report.html", b"7<svg d='M 44.563052 237.279057'></svg>", True),
        ("report.html", b"7<svg d='M 44.563050 237.279057'></svg>", False),
        ("report.html", b"7<svg d='M 44.563053 237.279057'> </svg>", False),
        ("report.html", b"7.0<svg d='M 44.563052 237.279057'></svg>", False),
        ("series/clients.csv", b"7<svg d='M 44.563052 237.279057'></svg>", False),
    ],
)
def test_a_drawing_is_the_same_on_another_processor(name: str, written: bytes, same: bool) -> None:
    """Which may round the last decimal of a coordinate otherwise; nothing else may differ, and no figure of a series."""
    assert same_text(name, written, "7<svg d='M 44.563053 237.279057'></svg>") == same


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("<svg id='s-p4fadb25b80'/><path clip-path='url(#s-p4fadb25b80)'/><path id='s-p0123456789'/></svg>", True),
        ("<svg id='s-p4fadb25b80'/><path clip-path='url(#s-p0123456789)'/><path id='s-p0123456789'/></svg>", False),
    ],
)
def test_parts_of_a_drawing_may_be_called_otherwise(written: str, same: bool) -> None:
    again = "<svg id='s-p04263fa558'/><path clip-path='url(#s-p04263fa558)'/><path id='s-pfedcba9876'/></svg>"
    assert same_text("report.html", written.encode(), again) == same
