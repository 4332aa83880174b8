-- What was seen by second beside the storage calls (monitoring.observations), and calls by steps of time.

-- name: add_observations
-- Rows of frames, of no job: kept while a job of this database runs, or ran within the last seconds, by the row's own
-- second, so that idle workers write nothing; those stored already are left out. When in its second a row was taken (0 to 1)
-- stands among its values: two looks may lie 0.5 or 1.5 s apart and have seconds that follow each other.
WITH seen AS (
    SELECT f.* FROM unnest(%(second)s::bigint[], %(kind)s::text[], %(source)s::text[], %(values)s::text[], %(taken)s::float8[])
        AS f (second, kind, source, "values", taken)
), wanted AS MATERIALIZED (
    SELECT s.second FROM (SELECT DISTINCT second FROM seen) AS s
    WHERE EXISTS (
        SELECT FROM job j
        WHERE extract(epoch FROM j.created_at) <= s.second + %(slack)s
          AND (j.state IN ('running', 'pausing', 'cancelling')
            OR extract(epoch FROM coalesce(j.finished_at, j.stopped_at)) >= s.second - %(slack)s)
    )
)
INSERT INTO observation (second, kind, source, "values")
SELECT second, kind, source, "values"::jsonb || jsonb_build_object('taken', taken) FROM seen JOIN wanted USING (second)
ON CONFLICT DO NOTHING;

-- name: jobs_to_observe
-- Jobs that are not at rest, and those that have been for less than two seconds or were not when they were looked at
-- last (`open`): their last state is to be seen.
SELECT id, state NOT IN ('running', 'pausing', 'cancelling') AS at_rest FROM job
WHERE state IN ('running', 'pausing', 'cancelling')
   OR coalesce(finished_at, stopped_at) > clock_timestamp() - interval '2 seconds'
  OR id = ANY(%(open)s::uuid[]);

-- name: observe_queue
-- Tasks of these jobs' phases by state, and how long the oldest of those not yet running waits: while there are
-- pending ones that is taken to be since the phase began.
WITH seen (second, kind, source, job, "values") AS (
    SELECT floor(extract(epoch FROM clock_timestamp()))::bigint, 'queue', %(database)s, j.id, jsonb_build_object(
        'phase', j.phase, 'pending', p.pending, 'dispatched', o.dispatched, 'running', o.running,
        'oldest_pending_s', greatest(0, round(extract(epoch FROM clock_timestamp()
            - CASE WHEN p.pending > 0 THEN h.started_at ELSE o.oldest END), 3)))
    FROM job j
    LEFT JOIN job_phase h ON h.job = j.id AND h.phase = j.phase
    CROSS JOIN LATERAL (
        SELECT count(*) AS pending FROM task t WHERE t.job = j.id AND t.phase = j.phase AND t.state = 'pending'
    ) AS p
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE t.state = 'dispatched') AS dispatched,
            count(*) FILTER (WHERE t.state = 'running') AS running,
            min(t.dispatched_at) FILTER (WHERE t.state = 'dispatched') AS oldest
        FROM task t WHERE t.job = j.id AND t.phase = j.phase AND t.state IN ('dispatched', 'running')
    ) AS o
    WHERE j.id = ANY(%(jobs)s::uuid[])
), stored AS (
    INSERT INTO observation (second, kind, source, job, "values")
    SELECT * FROM seen
    ON CONFLICT (job, kind, second, source) DO UPDATE SET "values" = excluded."values"
)
SELECT "values" FROM seen;

-- name: observe_progress
-- What these jobs have done so far: sums over their tasks, and of the present phase what is known of its end; with the
-- number of rows that were counted for it. The finalise of a production writes files too. Of two looks in one second the later one stays: it may be a job's last.
WITH seen (second, kind, source, job, "values", counted) AS (
    SELECT floor(extract(epoch FROM clock_timestamp()))::bigint, 'progress', %(database)s, j.id, jsonb_build_object(
        'phase', j.phase, 'items', t.items, 'items_indexed', t.items_indexed, 'raw_bytes', t.raw_bytes,
        'discovered_bytes', t.discovered_bytes, 'indexed_bytes', t.indexed_bytes, 'index_bytes', n.index_bytes,
        'index_written_bytes', t.index_written_bytes,
        'open', t.open, 'done', t.done, 'weight_open', t.weight_open, 'weight_done', t.weight_done,
        'containers', n.containers, 'exceptions', n.exceptions,
        'elapsed_s', coalesce(round(greatest(0, extract(epoch FROM
            coalesce(j.finished_at, CASE WHEN j.reason IS NULL THEN j.stopped_at END, clock_timestamp())
                - j.first_claim_at) - j.stopped_seconds::numeric), 3), 0),
        'phase_s', coalesce(round(greatest(0, extract(epoch FROM
            coalesce(h.finished_at, CASE WHEN j.reason IS NULL THEN j.stopped_at END, clock_timestamp())
                - h.started_at) - h.stopped_seconds::numeric), 3), 0)),
        t.tasks + n.containers + n.exceptions
    FROM job j
    LEFT JOIN job_phase h ON h.job = j.id AND h.phase = j.phase
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(items) FILTER (WHERE phase NOT IN ('index', 'ocr', 'finalise')), 0)::bigint AS items,
            coalesce(sum(items) FILTER (WHERE phase = 'index'), 0)::bigint AS items_indexed,
            coalesce(sum(raw_bytes) FILTER (WHERE phase IN ('walk', 'expand')), 0)::bigint AS raw_bytes,
            coalesce(sum(raw_bytes + extracted_bytes) FILTER (WHERE phase NOT IN ('index', 'ocr')), 0)::bigint
                AS discovered_bytes,
            coalesce(sum(weight) FILTER (WHERE phase = 'index' AND state = 'done'), 0)::bigint AS indexed_bytes,
            coalesce(sum(index_bytes), 0)::bigint AS index_written_bytes,
            count(*) FILTER (WHERE phase = j.phase AND state <> 'done') AS open,
            count(*) FILTER (WHERE phase = j.phase AND state = 'done') AS done,
            coalesce(sum(weight) FILTER (WHERE phase = j.phase AND state <> 'done'), 0)::bigint AS weight_open,
            coalesce(sum(weight) FILTER (WHERE phase = j.phase AND state = 'done'), 0)::bigint AS weight_done,
            count(*) AS tasks
        FROM task WHERE job = j.id
    ) AS t
    CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM container_count c WHERE c.job = j.id) AS containers,
            (SELECT count(*) FROM exception e WHERE e.job = j.id) AS exceptions,
            (SELECT coalesce(sum(bytes), 0)::bigint FROM shard s WHERE s.job = j.id) AS index_bytes
    ) AS n
    WHERE j.id = ANY(%(jobs)s::uuid[])
), stored AS (
    INSERT INTO observation (second, kind, source, job, "values")
    SELECT second, kind, source, job, "values" FROM seen
    ON CONFLICT (job, kind, second, source) DO UPDATE SET "values" = excluded."values"
)
SELECT counted FROM seen;

-- name: observe_database
-- This database's own counters (bytes: pages read, temporary files, and the log of the whole server), its slots' sessions that are in a statement and those of them that wait, and every
-- so often (it reads a directory) its size.
WITH seen (second, kind, source, "values") AS (
    SELECT floor(extract(epoch FROM clock_timestamp()))::bigint, 'database', %(database)s, jsonb_strip_nulls(
        jsonb_build_object(
            'commits', d.xact_commit, 'rolled_back', d.xact_rollback,
            'rows', d.tup_inserted + d.tup_updated + d.tup_deleted,
            'active', a.active, 'waiting', a.waiting,
            'read_bytes', d.blks_read * current_setting('block_size')::bigint,
            'write_bytes', d.temp_bytes + pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'),
            'db_bytes', CASE WHEN %(size)s THEN pg_database_size(d.datid) END))
    FROM pg_stat_database d
    CROSS JOIN LATERAL (
        SELECT count(*) AS active, count(*) FILTER (WHERE wait_event IS NOT NULL) AS waiting
        FROM pg_stat_activity WHERE datid = d.datid AND state = 'active' AND application_name LIKE 'edbench %%/%%'
    ) AS a
    WHERE d.datname = current_database()
), stored AS (
    INSERT INTO observation (second, kind, source, "values")
    SELECT * FROM seen
    ON CONFLICT DO NOTHING
)
SELECT "values" FROM seen;

-- name: forget_observations
-- Once jobs were deleted: what belongs to no job and is older than every job there is.
DELETE FROM observation
WHERE job IS NULL AND second < coalesce((SELECT floor(extract(epoch FROM min(created_at)))::bigint - 60 FROM job),
    9223372036854775807);

-- name: call_steps_at
-- The stored steps that calls are to be added to.
SELECT c.* FROM call_step c
JOIN unnest(%(job)s::uuid[], %(step)s::int[], %(second)s::bigint[], %(op)s::smallint[]) AS k (job, step, second, op)
    ON c.job = k.job AND c.step = k.step AND c.second = k.second AND c.op = k.op;

-- name: put_call_steps
-- Steps as they are now.
INSERT INTO call_step (job, step, second, op, calls, bytes, errors, total_ns, max_ns, p50_ns, p95_ns, p99_ns, histogram)
SELECT * FROM unnest(
    %(job)s::uuid[], %(step)s::int[], %(second)s::bigint[], %(op)s::smallint[], %(calls)s::bigint[],
    %(bytes)s::bigint[], %(errors)s::bigint[], %(total_ns)s::bigint[], %(max_ns)s::bigint[], %(p50_ns)s::bigint[],
    %(p95_ns)s::bigint[], %(p99_ns)s::bigint[], %(histogram)s::bytea[])
ON CONFLICT (job, step, second, op) DO UPDATE SET
    calls = excluded.calls, bytes = excluded.bytes, errors = excluded.errors, total_ns = excluded.total_ns,
    max_ns = excluded.max_ns, p50_ns = excluded.p50_ns, p95_ns = excluded.p95_ns, p99_ns = excluded.p99_ns,
    histogram = excluded.histogram;
