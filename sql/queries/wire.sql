-- Wire-read beside call-read (controller.wire).

-- name: phase_times
-- When a job's phases ran, as epoch seconds of the database's clock; one that has not ended ends now.
SELECT p.phase, extract(epoch FROM p.started_at)::float8 AS start,
    extract(epoch FROM coalesce(p.finished_at, j.stopped_at, clock_timestamp()))::float8 AS finish
FROM job_phase p JOIN job j ON j.id = p.job
WHERE p.job = %(job)s ORDER BY p.started_at;

-- name: bytes_by_phase
-- Bytes that calls of one op moved, by phase.
SELECT phase, sum(bytes)::bigint AS bytes FROM call_second WHERE job = %(job)s AND op = %(op)s GROUP BY phase;

-- name: wire_reads
-- Payload read over the wire, cumulative, by source and second, from a little before the first of these seconds to a
-- little after the last; `points` are the mount points, `storage` is true where the storage root lies there.
SELECT source, second, ("values" ->> 'read_bytes')::bigint AS read_bytes,
    coalesce(("values" ->> 'storage')::boolean, false) AS storage, "values" -> 'points' AS points
FROM observation
WHERE job IS NULL AND kind = 'wire' AND second BETWEEN %(first)s - 30 AND %(last)s + 30
ORDER BY source, second;

-- name: jobs_meanwhile
-- Other jobs that ran in these seconds.
SELECT count(*) FROM job
WHERE id <> ALL(%(jobs)s::uuid[]) AND extract(epoch FROM first_claim_at) < %(last)s
    AND coalesce(extract(epoch FROM coalesce(finished_at, stopped_at)), %(last)s) > %(first)s;
