-- A job over time (controller.timeline).

-- name: timeline_job
-- What the axis of a job is made of; times are seconds since the epoch.
SELECT extract(epoch FROM first_claim_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished,
    extract(epoch FROM stopped_at)::float8 AS stopped, extract(epoch FROM clock_timestamp())::float8 AS now
FROM job WHERE id = %(job)s;

-- name: timeline_phases
-- When its phases began and ended.
SELECT phase, extract(epoch FROM started_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished
FROM job_phase WHERE job = %(job)s ORDER BY started_at;

-- name: timeline_pauses
-- When it stood still since its first claim, as what and why; one that lasts is known by the job's own row.
SELECT state, reason, extract(epoch FROM started_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished
FROM job_pause WHERE job = %(job)s
UNION ALL
SELECT CASE WHEN reason IS NOT NULL THEN 'suspended' WHEN state = 'held' THEN state ELSE 'paused' END, reason,
    extract(epoch FROM stopped_at)::float8, NULL
FROM job WHERE id = %(job)s AND stopped_at IS NOT NULL AND first_claim_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM job_pause p WHERE p.job = job.id AND p.started_at = job.stopped_at)
ORDER BY started;

-- name: timeline_calls
-- Its calls by steps of one length, without histograms.
SELECT second, op, calls, bytes, errors, total_ns, max_ns, p50_ns, p95_ns, p99_ns
FROM call_step WHERE job = %(job)s AND step = %(step)s AND second >= %(low)s ORDER BY second, op;

-- name: timeline_call_histograms
-- The same with histograms, for merging those of several jobs.
SELECT second, op, calls, bytes, errors, total_ns, max_ns, histogram
FROM call_step WHERE job = %(job)s AND step = %(step)s AND second >= %(low)s ORDER BY second, op;

-- name: timeline_readings
-- What was observed of no job: the last reading of each source in each step, looked for where it decides: at the end
-- of steps, and in the first and last seconds. (All of an hour, sorted, would take most of the time there is.)
SELECT DISTINCT ON (kind, source, second / %(step)s) kind, source, second, "values"
FROM observation
WHERE job IS NULL AND kind = ANY(%(kinds)s::text[]) AND second BETWEEN %(low)s AND %(high)s
  AND (second %% %(step)s >= %(step)s - 2 OR second <= %(first)s OR second >= %(last)s)
ORDER BY kind, source, second / %(step)s, second DESC;

-- name: timeline_progress
-- A job's progress: the last reading in each step, and the last one before them.
SELECT DISTINCT ON (second / %(step)s) second, "values"
FROM observation
WHERE job = %(job)s AND kind = 'progress' AND second >= coalesce((
    SELECT max(second) FROM observation WHERE job = %(job)s AND kind = 'progress' AND second < %(low)s), %(low)s)
ORDER BY second / %(step)s, second DESC;

-- name: timeline_queue
-- A job's tasks that are not done, by state: means over each step.
SELECT second / %(step)s * %(step)s AS second, avg(("values" ->> 'pending')::float8) AS pending,
    avg(("values" ->> 'dispatched')::float8) AS dispatched, avg(("values" ->> 'running')::float8) AS running
FROM observation WHERE job = %(job)s AND kind = 'queue' AND second >= %(low)s GROUP BY 1 ORDER BY 1;


-- name: timeline_call_totals
-- A job's calls so far by op, from its longest steps.
SELECT op, sum(calls)::bigint AS calls, sum(total_ns)::bigint AS total_ns
FROM call_step WHERE job = %(job)s AND step = %(step)s GROUP BY op ORDER BY op;

-- name: timeline_last_workers
-- The last reading of each worker in some seconds.
SELECT DISTINCT ON (source) source, "values" FROM observation
WHERE job IS NULL AND kind = 'worker' AND second BETWEEN %(low)s AND %(high)s ORDER BY source, second DESC;

-- name: timeline_first_workers
-- The first reading of each worker that was there when a job began.
SELECT DISTINCT ON (source) source, "values" FROM observation
WHERE job IS NULL AND kind = 'worker' AND second BETWEEN %(low)s AND %(high)s ORDER BY source, second;
