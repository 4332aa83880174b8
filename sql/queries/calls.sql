-- Storage calls by second (monitoring).

-- name: lock_collecting
-- One collector at a time writes frames here; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(%(key)s);

-- name: known_jobs
-- Which of these jobs this database has.
SELECT id FROM job WHERE id = ANY(%(jobs)s::uuid[]);

-- name: add_calls
-- Rows of frames; those stored already (a frame that came twice) and those of deleted jobs are left out. Gives the
-- seconds, by job and incarnation, that were new.
WITH stored AS (
    INSERT INTO call_second (job, incarnation, second, phase, op, calls, bytes, errors, total_ns, max_ns, histogram)
    SELECT f.* FROM unnest(
        %(job)s::uuid[], %(incarnation)s::uuid[], %(second)s::bigint[], %(phase)s::text[], %(op)s::smallint[],
        %(calls)s::bigint[], %(bytes)s::bigint[], %(errors)s::bigint[], %(total_ns)s::bigint[], %(max_ns)s::bigint[],
        %(histogram)s::bytea[]
    ) AS f (job, incarnation, second, phase, op, calls, bytes, errors, total_ns, max_ns, histogram)
    WHERE EXISTS (SELECT FROM job WHERE job.id = f.job)
    ORDER BY f.job, f.incarnation, f.second, f.phase, f.op
    ON CONFLICT DO NOTHING
    RETURNING job, incarnation, second
)
SELECT DISTINCT job::text, incarnation::text, second FROM stored;

-- name: frames_stored
-- Each worker's latest frame; numbers skipped since the one before count as lost. Frames seen before change nothing. A clock that
-- was set back takes `through` back: what ends by it from then on is not stored yet.
UPDATE worker
SET frames_lost = worker.frames_lost + g.latest - worker.frames_sequence - g.frames,
    frames_sequence = g.latest,
    frames_second = g.second,
    frames_through = g.through
FROM (
    SELECT w.incarnation, max(f.sequence) AS latest, max(f.second) AS second, count(DISTINCT f.sequence) AS frames,
        (array_agg(f.through ORDER BY f.sequence DESC))[1] AS through
    FROM unnest(%(incarnation)s::uuid[], %(sequence)s::bigint[], %(second)s::bigint[], %(through)s::float8[])
        AS f (incarnation, sequence, second, through)
    JOIN worker w ON w.incarnation = f.incarnation AND f.sequence > w.frames_sequence
    GROUP BY w.incarnation
) AS g
WHERE worker.incarnation = g.incarnation;

-- name: call_rows
-- Every stored second of a job, for merging its histograms.
SELECT phase, op, calls, bytes, errors, total_ns, max_ns, histogram FROM call_second WHERE job = %(job)s;

-- name: calls_now
-- Calls in each live worker's latest seconds by its own clock, so that hosts' clocks need not agree.
WITH live AS (
    SELECT w.incarnation, w.frames_second AS latest,
        (SELECT min(second) FROM call_second WHERE job = %(job)s AND incarnation = w.incarnation) AS earliest
    FROM worker w
    WHERE w.stopped_at IS NULL AND w.seen_at > clock_timestamp() - make_interval(secs => 15)
)
SELECT coalesce(sum(c.calls), 0)::bigint AS calls, coalesce((SELECT max(latest - earliest) + 1 FROM live), 0) AS age
FROM live
JOIN call_second c ON c.job = %(job)s AND c.incarnation = live.incarnation AND c.second > live.latest - %(seconds)s;
