"""Run the demo of `make demo`: a corpus, a discovery job, its verification, a small scale-up and a simulation of report
R1; print in ten lines what they showed.

Everything runs through the `edbench` command, as a user would run it. The scale-up runs on the emulated filer
`cloud-nas`, which is bound by latency: workers wait for it and not for this machine's CPU, so more workers gain on any
machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

EDBENCH = str(Path(sys.executable).with_name("edbench"))
DIRECTORY = Path(".demo")
CORPUS, SMALL = DIRECTORY / "corpus", DIRECTORY / "small-files"
WORKERS = (1, 2, 4)
SIMULATION = ("simulate", "r1", "--brief")  # of an optional package


def edbench(*arguments: str, quiet: bool = False) -> None:
    """Show a command and run it; with `quiet` its output is shown only if it fails."""
    print(f"$ edbench {' '.join(arguments)}", flush=True)
    out, err = (subprocess.PIPE, subprocess.STDOUT) if quiet else (None, None)
    done = subprocess.run([EDBENCH, *arguments], check=False, text=True, stdout=out, stderr=err)
    if done.returncode != 0:
        sys.exit(f"{done.stdout or ''}demo: `edbench {' '.join(arguments)}` failed with exit status {done.returncode}")


def to(name: str) -> list[str]:
    """Return the options that make a command write its JSON document under this name."""
    return ["-o", "json", "--output-file", str(DIRECTORY / f"{name}.json")]


def document(name: str) -> Any:
    """Return a JSON document that a command has written."""
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))


def generate(place: Path, profile: str, scale: str) -> None:
    """Generate a corpus unless an earlier run of the demo did."""
    if not (place / "dataset.json").exists():
        shutil.rmtree(place, ignore_errors=True)
        edbench("corpus", "generate", str(place), "--profile", profile, "--scale", scale, "--seed", "7")


def main() -> None:
    """Run the steps and print the summary. Exits with the failing command's output and status 1 if one fails."""
    begun = time.monotonic()
    DIRECTORY.mkdir(exist_ok=True)
    generate(CORPUS, "reference", "0.0005")
    generate(SMALL, "many-small", "0.0005")
    if (DIRECTORY / "job.json").exists():  # of an earlier demo: it would only use space
        subprocess.run([EDBENCH, "job", "delete", document("job")["job_id"]], check=False, capture_output=True)
    edbench("discover", str(CORPUS), "--workers", "2", *to("job"))
    edbench("verify", "last", *to("verify"), quiet=True)
    # One process that only computes, while the scale-up waits for its emulated filer.
    simulation = None
    if find_spec("simulate") is not None:
        simulation = subprocess.Popen([EDBENCH, *SIMULATION], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    load = f"--workers {','.join(map(str, WORKERS))} --slots 1 --repeats 1 --filer cloud-nas --no-baseline"
    small = str(SMALL / "data" / "melvyn_moret")
    edbench("bench", "scale-up", "--corpus", small, *load.split(), *to("scale-up"), quiet=True)
    if simulation is not None:
        print(f"$ edbench {' '.join(SIMULATION)}", flush=True)
        printed, wrong = simulation.communicate()
        if simulation.returncode != 0:
            sys.exit(f"{wrong}demo: `edbench {' '.join(SIMULATION)}` failed with exit status {simulation.returncode}")
        print(printed)
    print("\n".join(summary(document("job"), document("verify"), document("scale-up"))))
    print(f"The demo took {time.monotonic() - begun:.0f} s.")


def summary(job: Any, verified: Any, study: Any) -> list[str]:
    """Return what the demo showed, for a reader who sees edbench for the first time."""
    exceptions = sum(job["exceptions"].values())
    elapsed = {point["at"]["workers"]: point["figures"]["elapsed_s"]["median"] for point in study["points"]}
    report = Path(job["storage"]) / "results" / study["run_id"] / "report.html"
    return [
        f"Processed  {job['items']:,} items ({job['raw_bytes'] / 1e6:.1f} MB, {job['discovered_bytes'] / 1e6:.1f} MB with"
        f" extracted children) in {job['elapsed_s']:.1f} s",
        f"Complete   {verified['missing']} missing, {verified['extra']} extra, {verified['wrong']} wrong of"
        f" {verified['manifest_items']:,} items in the manifest; {exceptions} damaged or unreadable items recorded",
        f"Scale-up   emulated filer cloud-nas ({description(study)}), one slot a worker:",
        *(
            f"           {workers} {'worker ' if workers == 1 else 'workers'}  {elapsed[workers]:5.1f} s"
            f"  {elapsed[1] / elapsed[workers]:4.2f} x"
            for workers in WORKERS
        ),
        "Note       one short run a point on cached data: this shows how edbench works, and measures no storage",
        f"Report     {report}",
        f"Web UI     {EDBENCH} serve",
    ]


def description(study: Any) -> str:
    """Return the description of the emulated filer from its profile."""
    return str(study["conditions"]["emulated_filer"]["description"])


if __name__ == "__main__":
    main()
