"""The table of commands: each is known by its line here, and its module is imported when it is used.

A new command is one entry in `COMMANDS`. A test holds the help here against the command's own.
"""

from __future__ import annotations

from cli.on_demand import LazyCommand

# In the order of a person's work.
COMMANDS: tuple[LazyCommand, ...] = (
    LazyCommand(
        "generate",
        "cli.corpus.generate:generate",
        "Write a corpus, its manifest and dataset.json.",
        "edbench generate c --profile reference --scale 0.002 --seed 7",
    ),
    LazyCommand(
        "profile",
        "cli.profiles.group:profile_app",
        "Show what corpora can be made of; run storage tests of reports R2 to R5.",
        "edbench profile describe reference --scale 0.01",
        group=True,
        parts=(
            LazyCommand(
                "run",
                "cli.profiles.run:run",
                "Put storage through a test of reports R2 to R5, with a report and their figures beside; `all`: through all of "
                "them and a discovery, to one page.",
                "edbench profile run stream --path /mnt/filer/empty",
            ),
        ),
    ),
    LazyCommand(
        "dataset",
        "cli.corpus.dataset:dataset_app",
        "Check a corpus, or show what it is.",
        "edbench dataset check c",
        group=True,
    ),
    LazyCommand(
        "discover",
        "cli.jobs.discover:discover",
        "Run a discovery job over DIR and wait for it.",
        "edbench discover c --workers 2 --json r.json",
    ),
    LazyCommand(
        "serve",
        "cli.system.serve:serve",
        "Serve the web page and the HTTP API until Ctrl-C, which pauses the jobs created there.",
        "edbench serve --port 8080",
    ),
    LazyCommand(
        "verify",
        "cli.jobs.verify:verify",
        "Compare a completed job with its manifest: database, index and filer.",
        "edbench verify last",
    ),
    LazyCommand(
        "search",
        "cli.jobs.search:search",
        "Search the text and fields of a job's items, best match first.",
        "edbench search last 'subject:budget AND \"third quarter\"'",
    ),
    LazyCommand(
        "dedupe",
        "cli.review.dedupe:dedupe",
        "Find the duplicates among the items of finished jobs, and of each group of equals the original.",
        "edbench dedupe last --by family --scope job",
    ),
    LazyCommand(
        "near",
        "cli.review.near:near",
        "Find items of finished jobs whose texts are nearly the same, and of each group its principal.",
        "edbench near last --threshold 0.8",
    ),
    LazyCommand(
        "languages",
        "cli.review.languages:languages",
        "Tell the language of each text of finished jobs.",
        "edbench languages last",
    ),
    LazyCommand(
        "denist",
        "cli.review.denist:denist",
        "Flag the items of finished jobs whose hash is on a list of known software files.",
        "edbench denist last --list NSRLFile.txt --list own.sha256",
    ),
    LazyCommand(
        "threads",
        "cli.review.threads:threads",
        "Put the messages of finished jobs into threads: which one answers which.",
        "edbench threads last --csv > threads.csv",
    ),
    LazyCommand(
        "terms",
        "cli.jobs.terms:terms",
        "Report what each search term of a list finds: items, with their families, families, and what it alone finds.",
        "edbench terms last terms.txt --csv > hits.csv",
    ),
    LazyCommand(
        "tag",
        "cli.jobs.tag:tag",
        "Tag the items that a query finds; without TAG list the tags, with --history who did what and when.",
        "edbench tag last privileged 'sender:counsel OR \"attorney client\"' --families",
    ),
    LazyCommand(
        "extract",
        "cli.production.commands:extract",
        "Write text and metadata of a discovery's items to DIR: a job of its own, which can be paused and resumed.",
        "edbench extract last --out out --query 'budget OR forecast'",
    ),
    LazyCommand(
        "process",
        "cli.production.commands:process",
        "Make pages of a discovery's items in DIR, a file a page with its Bates number below it, and an Opticon file.",
        "edbench process last --out images --prefix ABC --format tiff",
    ),
    LazyCommand(
        "export",
        "cli.production.commands:export",
        "Write a production of a discovery's items to DIR: natives, text, load files and hashes.",
        "edbench export last --out production --tag responsive --prefix ABC",
    ),
    LazyCommand(
        "custody",
        "cli.review.custody:custody",
        "Print a job's chain of custody as JSON lines: what operators did, then every item with its hashes, parser and task.",
        "edbench custody last > custody.jsonl",
    ),
    LazyCommand(
        "production",
        "cli.production.loadfiles:production_app",
        "Check that a production is what its load files say, or take another's as a source.",
        "edbench production check production",
        group=True,
    ),
    LazyCommand(
        "jobs",
        "cli.jobs.listing:jobs",
        "List the jobs, newest first.",
        "edbench jobs",
    ),
    LazyCommand(
        "job",
        "cli.jobs.listing:job",
        "Show one job: counts by phase, kind, media type and text state, exceptions by code, and children.",
        "edbench job last",
    ),
    LazyCommand(
        "items",
        "cli.jobs.items:items",
        "Print a job's items: what each is, where it was found, its hash, its text, its exceptions.",
        "edbench items last --jsonl > items.jsonl",
    ),
    LazyCommand(
        "item",
        "cli.jobs.item:item",
        "Show one item: what is known of it, its family, its duplicates and near-duplicates, its thread; or its text.",
        "edbench item last 3f2a91bc --text",
    ),
    LazyCommand(
        "inspect",
        "cli.system.inspect:inspect",
        "Unpack files without any database and show every item: the tool to look at one odd file.",
        "edbench inspect mail.mbox report.docx --jsonl",
    ),
    LazyCommand(
        "formats",
        "cli.system.formats:formats",
        "List the formats that are read; with WORD, what is taken out of them and what is not.",
        "edbench formats pdf",
    ),
    LazyCommand(
        "pause",
        "cli.jobs.lifecycle:pause",
        "Pause a running job: what runs is finished, nothing is begun, and `resume` goes on.",
        "edbench pause 3f2a",
    ),
    LazyCommand(
        "resume",
        "cli.jobs.lifecycle:resume",
        "Go on with a job that is paused or suspended, or whose command was killed, and wait for it.",
        "edbench resume last --workers 2",
    ),
    LazyCommand(
        "requeue",
        "cli.jobs.requeue:requeue",
        "Process the exceptions of a completed job again, once their cause is mended, and wait for it.",
        "edbench requeue last --code unreadable",
    ),
    LazyCommand(
        "cancel",
        "cli.jobs.lifecycle:cancel",
        "End a job for good; what it found so far stays until `delete`.",
        "edbench cancel 3f2a",
    ),
    LazyCommand(
        "delete",
        "cli.jobs.lifecycle:delete",
        "Remove a job that does not run: its rows, and its files on the filer. The source is not touched.",
        "edbench delete 3f2a",
    ),
    LazyCommand(
        "collect-counters",
        "cli.jobs.collect_counters:collect_counters",
        "Ask a filer's own command for its counters, again and again, for `import-counters`.",
        "edbench collect-counters moosefs --out c.jsonl -- mfscli -H MASTER -SMO -m 1 -p -s ,",
    ),
    LazyCommand(
        "import-counters",
        "cli.jobs.import_counters:import_counters",
        "Put the array's own counters on a job's time axis, collected, from a CSV file or from Prometheus.",
        "edbench import-counters last array.csv --map array.toml --offset 1.5",
    ),
    LazyCommand(
        "replay",
        "cli.traces.replay:replay",
        "Make the storage calls of a trace again, from client processes, without the work between them.",
        "edbench replay job.edbtrace --path /mnt/filer/replay --clients 1,4,16",
    ),
    LazyCommand(
        "trace",
        "cli.traces.files:trace_app",
        "Look at a trace of storage calls, export it, import one, merge several.",
        "edbench trace info job.edbtrace --html trace.html",
        group=True,
    ),
    LazyCommand(
        "compare",
        "cli.experiments.compare:compare",
        "Put results of experiments, or of replays, side by side, with their intervals.",
        "edbench compare results/a results/b",
    ),
    LazyCommand(
        "result",
        "cli.experiments.packages:result_app",
        "Check result packages, sign them, say what was measured.",
        "edbench result check results/a",
        group=True,
    ),
    LazyCommand(
        "chaos",
        "cli.experiments.chaos:chaos",
        "Run jobs of every kind with faults at seeded moments, and check that nothing is lost.",
        "edbench chaos --corpus c --faults all --runs 25 --seed 1",
    ),
    LazyCommand(
        "doctor",
        "cli.system.doctor:doctor",
        "Check this machine, scratch, the storage root and the services; exit status 1 when something is bad.",
        "edbench doctor",
    ),
    LazyCommand(
        "deploy",
        "cli.system.deploy:deploy",
        "Write a stack file for several hosts, from the definition and the .env that `make up` uses.",
        "edbench deploy swarm --workers 8 --place db1=host7",
    ),
    LazyCommand(
        "experiment",
        "cli.experiments.group:experiment_app",
        "Measure at several points, in random order, with a report.",
        "edbench experiment scale-up --corpus c",
        group=True,
    ),
    LazyCommand(
        "plan",
        "cli.experiments.plan:plan",
        "Say how large a corpus, how many workers and repeats a filer test needs, how long it takes, and what to type.",
        "edbench plan --filer-cache 32GB --client-memory 128GB --hours 4",
    ),
    LazyCommand(
        "worker",
        "cli.system.worker:worker_app",
        "Take part in experiments on many hosts.",
        "edbench worker join redis://10.0.0.1:6390",
        group=True,
    ),
    LazyCommand(
        "predict",
        "cli.experiments.predict:predict",
        "Predict elapsed time and GB/hour for more workers, more databases, another filer or a site, and what limits each.",
        "edbench predict --workers 10,30,100 --databases 1,2,4 --filer nas-10g",
    ),
)
