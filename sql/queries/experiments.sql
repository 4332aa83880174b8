-- What experiments look at while a job runs, and of its tasks afterwards.

-- name: activity_now
-- The database's own counters so far, with the moment they were read.
SELECT extract(epoch FROM clock_timestamp())::float8 AS at, xact_commit AS commits,
    tup_inserted + tup_updated + tup_deleted AS rows
FROM pg_stat_database WHERE datname = current_database();

-- name: queue_now
-- A job's tasks that are not done, by state, and the phase it is in.
SELECT j.phase AS phase,
    count(*) FILTER (WHERE t.state = 'pending') AS pending,
    count(*) FILTER (WHERE t.state = 'dispatched') AS dispatched,
    count(*) FILTER (WHERE t.state = 'running') AS running
FROM job j LEFT JOIN task t ON t.job = j.id AND t.state IN ('pending', 'dispatched', 'running')
WHERE j.id = %(job)s GROUP BY j.phase;

-- name: job_times
-- When a job's first task was claimed and when it was over, seconds since the epoch, and the seconds between that are
-- taken off its elapsed.
SELECT extract(epoch FROM first_claim_at)::float8 AS first_claim, extract(epoch FROM finished_at)::float8 AS finished,
    stopped_seconds AS stopped
FROM job WHERE id = %(job)s;

-- name: task_spans
-- Every task that was done: which slot had it, and from when to when.
SELECT coalesce(worker, '') AS worker, coalesce(slot, 0) AS slot, phase,
    extract(epoch FROM claimed_at)::float8 AS claimed, extract(epoch FROM finished_at)::float8 AS finished
FROM task WHERE job = %(job)s AND state = 'done' AND claimed_at IS NOT NULL AND finished_at IS NOT NULL
ORDER BY claimed_at, id;

-- name: index_hosts
-- Of an experiment on several hosts: index tasks by who did them and by the host that wrote or read their items before.
SELECT coalesce(worker, '') AS worker, payload ->> 'written_on' AS written_on, count(*)::int AS tasks
FROM task WHERE job = %(job)s AND phase = 'index' AND state = 'done' AND payload ? 'written_on'
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: phase_spans
-- When each phase of a job began (its first claim) and ended (its barrier), seconds since the epoch, and how long it
-- stood still between.
SELECT p.phase, extract(epoch FROM p.started_at)::float8 AS started,
    extract(epoch FROM coalesce(p.finished_at, j.finished_at))::float8 AS finished,
    p.stopped_seconds::float8 AS stopped
FROM job_phase p JOIN job j ON j.id = p.job
WHERE p.job = %(job)s AND coalesce(p.finished_at, j.finished_at) IS NOT NULL ORDER BY p.started_at;

-- name: heaviest_files
-- The loose files under which most is found: items (itself among them) and their bytes, of the heaviest.
WITH RECURSIVE found AS (
    SELECT id, id AS loose, bytes FROM item WHERE job = %(job)s AND parent IS NULL
    UNION ALL
    SELECT i.id, f.loose, i.bytes FROM found f JOIN item i ON i.parent = f.id
)
SELECT count(*)::bigint AS items, sum(bytes)::bigint AS bytes FROM found GROUP BY loose
ORDER BY sum(bytes) + 4096 * count(*) DESC, loose LIMIT %(most)s;

-- name: loose_needs
-- Room that a loose file takes where it is copied, and the files taken out of it: whole blocks, and 1,024 for each name.
WITH RECURSIVE found AS (
    SELECT id, id AS loose, 0::bigint AS room FROM item WHERE job = %(job)s AND parent IS NULL
    UNION ALL
    SELECT i.id, f.loose, CASE WHEN i.location IS NULL THEN 0 ELSE (i.bytes + 4095) / 4096 * 4096 + 1024 END
    FROM found f JOIN item i ON i.parent = f.id
)
SELECT l.path, (l.bytes + 4095) / 4096 * 4096 + 1024 AS itself, f.inside
FROM (SELECT loose, sum(room)::bigint AS inside FROM found GROUP BY loose) f JOIN item l ON l.id = f.loose
ORDER BY l.path;

-- name: call_seconds
-- Every stored second of a job's calls with its histogram, by worker and phase.
SELECT second, phase, op, calls, bytes, errors, total_ns, max_ns, histogram FROM call_second WHERE job = %(job)s
ORDER BY second, phase, op, incarnation;

-- name: clock_now
-- The database's clock, seconds since the epoch.
SELECT extract(epoch FROM clock_timestamp())::float8;
