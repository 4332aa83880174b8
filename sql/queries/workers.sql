-- The registry of worker processes.

-- name: register_worker
-- A new incarnation.
INSERT INTO worker (incarnation, name, host, pid, boot_id, slots, version, box, seen_at)
VALUES (%(incarnation)s, %(name)s, %(host)s, %(pid)s, %(boot_id)s, %(slots)s, %(version)s, %(box)s, clock_timestamp());

-- name: worker_seen
-- A sign of life, with what its slots have been doing for long.
UPDATE worker SET seen_at = clock_timestamp(), waiting = %(waiting)s::jsonb WHERE incarnation = %(incarnation)s;

-- name: worker_stopped
-- It left in good order.
UPDATE worker SET stopped_at = clock_timestamp(), seen_at = clock_timestamp()
WHERE incarnation = %(incarnation)s AND stopped_at IS NULL;

-- name: reporter_died
-- Its reporter did not leave in good order, and the frame that it was filling is lost with it.
UPDATE worker
SET stopped_at = clock_timestamp(), seen_at = clock_timestamp(), frames_lost = frames_lost + 1
WHERE incarnation = %(incarnation)s AND stopped_at IS NULL;

-- name: live_slots
-- Slots of the workers seen lately that have not left.
SELECT coalesce(sum(slots), 0)::int FROM worker
WHERE stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %(seconds)s);

-- name: idle_slots
-- Live slots without a task, of any job, if no task of this phase waits for one.
SELECT CASE
    WHEN EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND phase = %(phase)s AND state = 'pending')
        OR EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND phase = %(phase)s AND state = 'dispatched') THEN 0
    ELSE (
        SELECT coalesce(sum(slots), 0) FROM worker
        WHERE stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %(seconds)s)
    ) - (SELECT count(*) FROM task WHERE state = 'running')
END::int;

-- name: connections_of
-- How many connections there are of this application.
SELECT count(*)::int FROM pg_stat_activity WHERE application_name = %(application)s;

-- name: worker_waits
-- What live workers say their slots have been doing for long, for one job.
SELECT w.name || ': ' || (e ->> 'text') FROM worker w CROSS JOIN LATERAL jsonb_array_elements(w.waiting) AS e
WHERE w.stopped_at IS NULL AND w.seen_at > clock_timestamp() - make_interval(secs => %(seconds)s)
    AND e ->> 'job' = %(job)s
ORDER BY w.name, 1;

-- name: live_hosts
-- Where the live workers run; containers of one host differ by name, hosts by boot id.
SELECT DISTINCT host, boot_id
FROM worker WHERE stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %(seconds)s);

-- name: list_workers
-- All workers that have ever registered, newest first.
SELECT incarnation, name, host, pid, slots, version, started_at, seen_at, stopped_at,
    stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %(seconds)s) AS live
FROM worker ORDER BY started_at DESC, incarnation;

-- name: note_storage
-- The storage that the controller has at its storage root.
INSERT INTO storage_root (path, kind, source, token) VALUES (%(path)s, %(kind)s, %(source)s, %(token)s)
ON CONFLICT (path) DO UPDATE SET kind = excluded.kind, source = excluded.source, token = excluded.token;

-- name: noted_storage
-- The same, as it was noted; none where no controller did.
SELECT kind, source, token FROM storage_root WHERE path = %(path)s;

-- name: note_outage
-- This database could not be reached for so long, until now.
INSERT INTO outage (ended_at, seconds) VALUES (clock_timestamp(), %(seconds)s);

-- name: run_databases
-- The databases of runs on this server, with their comments (sql.runs).
SELECT datname AS name, coalesce(shobj_description(oid, 'pg_database'), '') AS comment
FROM pg_database WHERE starts_with(datname, 'edbench_run_') ORDER BY datname;

-- name: run_managed
-- Whether a queue manager is connected to a database of this server.
SELECT count(*) > 0 FROM pg_stat_activity
WHERE datname = %(database)s AND usename = 'edbench_queue_manager';
