"""The storage tests of reports R2 to R5: workloads of the experiment engine that `edbench bench storage` runs.

A test is a subclass of `storage_tests.profile.Profile` that pyproject.toml registers under `edbench.workloads` (`module:Class`).
`fio.FioTest` and `client_tests.ClientTest` make the load of most; a test of theirs names its points, files and jobs. It has:

`Load(At)`
    A field for each thing that varies. Names begin with that of the test, because one JSON schema contains all of them.
`Run(ProfileRun)`
    What is observed of a run, as raw as possible (fio's own JSON, a client's counts), and its figures, which have defaults. The
    package stores what was observed; the pure function `run_of` computes the figures, and leaves out what is marked `RAW`.
`Settings(ProfileSettings)`
    Fields with defaults, bounds and descriptions; `--set NAME=VALUE` changes them. They are part of the configuration, so that
    results with different settings are not compared.
the class itself
    Its description, points, room, checks, preparation and runs.
`ABOUT = about_test(Class, Load, Run, ...)`
    Figures (the first headline is the rate), sections of the report, `published` figures, and `ceilings`: figures that are
    GENERATOR-LIMITED within 80 % of the null baseline (`storage_tests.about`).

A test gets directories (each a volume, array member or disk) or an S3 prefix. It writes only into its `Arena`, which is
removed at the end, after Ctrl-C, and by the next command after kill -9 (`storage_tests.owner`)."""
