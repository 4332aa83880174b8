-- Traces: whose calls are to be waited for.

-- name: states_of_jobs
-- The states of some jobs, and when that was; those that are gone are left out.
SELECT id, state, extract(epoch FROM clock_timestamp())::float8 AS now FROM job WHERE id = ANY(%(jobs)s::uuid[]);

-- name: recorders_of_job
-- Workers that still live and have done tasks of the job, and when the last of these was done: what they recorded is on
-- their scratch, or was.
SELECT w.incarnation, extract(epoch FROM max(t.finished_at))::float8 AS last
FROM worker w JOIN task t ON t.job = %(job)s AND t.worker = w.name AND t.finished_at IS NOT NULL
WHERE w.stopped_at IS NULL AND w.seen_at > clock_timestamp() - make_interval(secs => %(seconds)s)
GROUP BY w.incarnation ORDER BY w.incarnation;
