"""Profiles: the storage tests of reports R2 to R5, each a workload of the one study engine (decision 56).

A profile is a workload (`experiments.workload`, CONTRIBUTING "Adding a workload") in a module or package of
`experiments/workloads/`, named as it is but with `_` for `-`. Beside its `ABOUT` it has a `PROFILE`, the class that runs it;
by that it is found, listed, described and run (`edbench bench storage`). Nothing else has to know of it.

What it gives (an example, whole: `experiments/workloads/stream`):

`Load`, `Run`, `Point`, `Result`
    As every workload has them: `Load(At)` has a field for each thing that is varied; `Run(ProfileRun)` what is told of a run;
    `Point` and `Result` declare them anew. Names of these classes begin with the profile's: they meet in one JSON schema.
`Seen(Observed)`
    What was observed of a run, as raw as it is (fio's own JSON, a client's own figures): the package keeps it, and everything
    else is told from it by the pure function `run_of(seen) -> Run`. `common(seen)` gives the fields that every run has.
`Settings(ProfileSettings)`
    A pydantic model: each field with its default, bounds and a description. `profile describe` shows them, `--set NAME=VALUE`
    sets them, the result's configuration has them (so results of other settings are not compared).
`ABOUT = profile_about(...)`
    `experiments.profiles.about`: figures (the first headline is the rate), its own sections of the report, `published`: figures
    of the report with the load and settings that make them the same quantity; `ceilings`: names of figures of which
    the same load's on null storage is a ceiling (within 80 % of it a point is GENERATOR-LIMITED).
`PROFILE`, a subclass of `experiments.profiles.profile.Profile`
    `name`, `report`, `does`, `writes`, `needs`: sentences for `list` and `describe`; `small`: settings of `--small`;
    `kind(repeats, seed)`: which points, mostly `cases(points, axis, …)`, which a bounded search may follow;
    `room()`: bytes and files on each path, seconds of one round of runs;
    `check()`: raises UsageError where something that it needs is missing, in one line that says how to get it;
    `prepared(arena)`: what all runs need, made once (a context manager; nothing need be removed, the arena goes as a whole);
    `observe(turn, arena)`: one run, to a `Seen`; raises RunFailed, SystemFault;
    `on_null()`: the same profile with settings that memory holds and that take seconds, for the pair; None: no pair, and
    `no_pair` says why;
    `touched()`: different bytes that a run of the smallest point touches, `direct`: whether the page cache is passed by (for CACHED).

What it gets: `Profile.__init__(settings, targets)`; `targets.paths` are directories (a path is a volume, an array member, or
a disk), `targets.s3` a URL or None (`takes_s3`: that it can). An `Arena` has `paths`, an empty directory of its own on each,
`s3`, `scratch` (local, not under test), `null` (whether it is memory), `tell(text)` for the live line. Everything
in the arena is removed at the end, after Ctrl-C, and by the next command after kill -9 (`experiments.profiles.owner`).
What file systems say is in use is told by `experiments.profiles.space`; schedulers and read-ahead are set, and put back
likewise, by `experiments.profiles.queues`.

For an S3 endpoint `experiments.profiles.study.ProfileStudy._arena` is where a prefix is claimed (a context manager that gives the
URL with the prefix of its own, and removes what is below it).
"""
