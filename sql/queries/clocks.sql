-- The database's clock may be stepped; leases, deadlines and elapsed times are then set right (queue_manager.deadlines).

-- name: database_clock
-- Seconds since the epoch.
SELECT extract(epoch FROM clock_timestamp())::float8;

-- name: fresh_terms
-- Deadlines and leases that no clock which only goes on can have set, because they lie further ahead than a whole term,
-- get a whole term from now; after a step (`stepped`) so do those that seem to have run out. Rows that somebody is just
-- changing are skipped; the next call sees them.
WITH outside AS (
    SELECT t.id, t.state, clock_timestamp() + make_interval(secs => term.seconds) AS until
    FROM task t JOIN job j ON j.id = t.job
    CROSS JOIN LATERAL (
        SELECT (j.options ->> CASE t.state WHEN 'dispatched' THEN 'dispatch_seconds' ELSE 'lease_seconds' END)::float8
            AS seconds, CASE t.state WHEN 'dispatched' THEN t.deadline ELSE t.lease END AS ends
    ) AS term
    WHERE t.state IN ('dispatched', 'running')
      AND (term.ends > clock_timestamp() + make_interval(secs => term.seconds)
        OR (%(stepped)s AND term.ends < clock_timestamp()))
    FOR UPDATE OF t SKIP LOCKED
)
UPDATE task
SET deadline = CASE outside.state WHEN 'dispatched' THEN outside.until END,
    lease = CASE outside.state WHEN 'running' THEN outside.until END
FROM outside WHERE task.id = outside.id;

-- name: move_clocks
-- The clock was stepped `by` seconds within the last `window` seconds: what jobs that are not over measure their time
-- from moves along, but for what was noted since the step.
WITH moved AS (
    UPDATE job
    SET first_claim_at = first_claim_at + CASE WHEN first_claim_at BETWEEN since.at AND since.now
            THEN interval '0' ELSE make_interval(secs => %(by)s) END,
        stopped_at = stopped_at + CASE WHEN stopped_at BETWEEN since.at AND since.now
            THEN interval '0' ELSE make_interval(secs => %(by)s) END
    FROM (SELECT clock_timestamp() - make_interval(secs => %(window)s) AS at, clock_timestamp() AS now) AS since
    WHERE state IN ('running', 'pausing', 'paused', 'held', 'cancelling', 'suspended') AND first_claim_at IS NOT NULL
    RETURNING job.id, since.at, since.now
)
UPDATE job_phase p SET started_at = p.started_at + make_interval(secs => %(by)s)
FROM moved
WHERE p.job = moved.id AND p.finished_at IS NULL AND p.started_at NOT BETWEEN moved.at AND moved.now;

-- name: unsee_workers
-- Workers seen in what is the future now would seem to live until then.
UPDATE worker SET seen_at = clock_timestamp() WHERE stopped_at IS NULL AND seen_at > clock_timestamp();
