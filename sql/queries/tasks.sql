-- The task protocol: pending → dispatched → running → done (design §3).

-- name: claim
-- One dispatched task of the job that the message names becomes running under a lease and the claimer's own token;
-- nothing when the message is stale or doubled, or the job does not run. Who asks again with the same token, because it
-- never got the answer, finds what it claimed. The first claim of a job and of a phase start their clocks.
WITH claimed AS (
    UPDATE task t
    SET state = 'running', token = %(token)s, deadline = NULL,
        attempt = t.attempt + CASE t.state WHEN 'dispatched' THEN 1 ELSE 0 END,
        lease = clock_timestamp() + make_interval(secs => (j.options ->> 'lease_seconds')::float8),
        claimed_at = clock_timestamp(), worker = %(worker)s, slot = %(slot)s, parsers = %(parsers)s
    FROM job j
    WHERE t.id = %(task)s AND t.job = %(job)s AND j.id = t.job
      AND (t.state = 'dispatched' AND j.state = 'running' AND j.phase = t.phase
        OR t.state = 'running' AND t.token = %(token)s)
    RETURNING t.id, t.job, t.phase, t.attempt, t.payload, t.portions, t.claimed_at, j.first_claim_at
), first_of_job AS (
    UPDATE job SET first_claim_at = c.claimed_at
    FROM claimed c
    WHERE job.id = c.job AND c.first_claim_at IS NULL AND job.first_claim_at IS NULL
), first_of_phase AS (
    INSERT INTO job_phase (job, phase, started_at)
    SELECT c.job, c.phase, c.claimed_at FROM claimed c
    WHERE NOT EXISTS (SELECT 1 FROM job_phase p WHERE p.job = c.job AND p.phase = c.phase)
    ON CONFLICT DO NOTHING
)
SELECT id, job, phase, attempt, payload, portions FROM claimed;

-- name: note_parsers
-- A slot's parser set, if no other slot has written the same down.
INSERT INTO parser_set (id, contents) VALUES (%(id)s, %(contents)s::jsonb) ON CONFLICT DO NOTHING;

-- name: fence
-- The first statement of every finish: no row means that the task is not this claim's (any more), or that a portion of
-- its findings was lost by a crash of the server.
UPDATE task
SET state = 'done', lease = NULL, finished_at = clock_timestamp(), raw_bytes = %(raw_bytes)s,
    extracted_bytes = %(extracted_bytes)s, index_bytes = %(index_bytes)s, items = %(items)s
WHERE id = %(task)s AND token = %(token)s AND state = 'running' AND portions = %(portions)s;

-- name: release
-- A running task goes back to pending, if it still belongs to this claim.
UPDATE task
SET state = 'pending', lease = NULL, failures = failures + %(failed)s
WHERE id = %(task)s AND token = %(token)s AND state = 'running'
RETURNING job, failures;

-- name: resumed_since_claim
-- Whether the task's job went on after it had stood still, while this claim held the task.
SELECT EXISTS (
    SELECT 1 FROM task t JOIN job_pause p ON p.job = t.job AND p.finished_at > t.claimed_at
    WHERE t.id = %(task)s AND t.token = %(token)s
);

-- name: renew
-- Longer leases for those of the given claims that still have their task.
UPDATE task t
SET lease = clock_timestamp() + make_interval(secs => (j.options ->> 'lease_seconds')::float8)
FROM job j, unnest(%(tasks)s::uuid[], %(tokens)s::uuid[]) AS mine (task, token)
WHERE t.id = mine.task AND t.token = mine.token AND t.state = 'running' AND j.id = t.job
RETURNING t.id, t.token;

-- name: return_expired
-- Messages nobody claimed in time and leases that ran out: pending again, at no charge. Rows that somebody is
-- just changing are skipped; the next call sees them.
WITH late AS (
    SELECT id, state FROM task
    WHERE state IN ('dispatched', 'running')
      AND CASE state WHEN 'dispatched' THEN deadline ELSE lease END < clock_timestamp()
    FOR UPDATE SKIP LOCKED
), returned AS (
    UPDATE task SET state = 'pending', deadline = NULL, lease = NULL
    FROM late WHERE task.id = late.id
    RETURNING late.state
)
SELECT count(*) FILTER (WHERE state = 'dispatched') AS dispatched, count(*) FILTER (WHERE state = 'running') AS running
FROM returned;

-- name: dispatch
-- The first pending tasks of a running job's phase are marked dispatched: the largest, or in the order of their random
-- ids where the job's order is fair. The share lock on the job makes a pause either wait for this or prevent it. LATERAL,
-- because only with the job and phase at hand the index gives the largest first: a plain join sorts all that is pending,
-- 220 ms a look with 100,000 tasks. Of the two, one is not executed.
WITH running AS (
    SELECT id, phase, (options ->> 'dispatch_seconds')::float8 AS seconds,
        coalesce(options ->> 'task_order', 'largest') = 'fair' AS fair
    FROM job WHERE id = %(job)s AND state = 'running' FOR SHARE
), largest AS (
    SELECT t.id, r.seconds, r.fair FROM running r CROSS JOIN LATERAL (
        SELECT id FROM task WHERE job = r.id AND phase = r.phase AND state = 'pending' AND NOT r.fair
        ORDER BY weight DESC, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS t
), fairest AS (
    SELECT t.id, r.seconds, r.fair FROM running r CROSS JOIN LATERAL (
        SELECT id FROM task WHERE job = r.id AND phase = r.phase AND state = 'pending' AND r.fair
        ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS t
), picked AS (
    SELECT * FROM largest UNION ALL SELECT * FROM fairest
)
UPDATE task
SET state = 'dispatched', dispatched_at = clock_timestamp(),
    deadline = clock_timestamp() + make_interval(secs => picked.seconds)
FROM picked WHERE task.id = picked.id
RETURNING task.id, CASE WHEN picked.fair THEN 0 ELSE task.weight END AS weight;

-- name: written_on
-- Of these tasks those that a host is not to do, because it wrote or read what they read, and that host.
SELECT id, payload ->> 'written_on' AS host FROM task WHERE id = ANY(%(tasks)s::uuid[]) AND payload ? 'written_on';

-- name: undispatch
-- Tasks whose message could not be sent are pending again; those already claimed stay.
UPDATE task SET state = 'pending', deadline = NULL
WHERE id = ANY(%(tasks)s::uuid[]) AND state = 'dispatched';

-- name: undispatch_all
-- Every dispatched task of this database but some is pending again: the broker lost its messages, or may have.
UPDATE task SET state = 'pending', deadline = NULL
WHERE state = 'dispatched' AND id <> ALL(%(keep)s::uuid[]);

-- name: undispatch_job
-- Every dispatched task of one job is pending again, but for those that a slot is just claiming: waiting for them
-- while the job is locked could deadlock.
UPDATE task SET state = 'pending', deadline = NULL
WHERE id IN (SELECT id FROM task WHERE job = %(job)s AND state = 'dispatched' FOR UPDATE SKIP LOCKED);

-- name: return_expired_of
-- Leases of one job that ran out: pending again. Skips rows that are just being changed, as undispatch_job does.
UPDATE task SET state = 'pending', lease = NULL
WHERE id IN (
    SELECT id FROM task
    WHERE job = %(job)s AND state = 'running' AND lease < clock_timestamp() FOR UPDATE SKIP LOCKED
);

-- name: has_pending
-- Whether the job has any pending task; where it has, no NOTIFY is needed. `phases`: all there are, so that the index serves.
SELECT EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND phase = ANY(%(phases)s::text[]) AND state = 'pending');

-- name: has_out
-- Whether any task of the job is dispatched or running.
SELECT EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND state IN ('dispatched', 'running'));

-- name: phase_open
-- Whether the phase has a task that is not done. Two probes, so that each has its own partial index.
SELECT EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND phase = %(phase)s AND state = 'pending')
    OR EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND phase = %(phase)s AND state IN ('dispatched', 'running'));

-- name: demand
-- What the dispatcher needs to know of every job that is not at rest, in one look: its tasks out, its pending
-- tasks up to a limit, how many it may have out in this phase (0: no limit of its own), its priority, what is
-- reserved for it and for whom.
SELECT j.id AS job, j.state, j.phase,
    coalesce(o.dispatched, 0) AS dispatched, coalesce(o.running, 0) AS running, p.pending,
    coalesce(least(
        CASE j.phase WHEN 'index' THEN (j.options ->> 'index_streams')::int END,
        (j.options -> 'phase_slots' ->> j.phase)::int, (j.options ->> 'most_tasks')::int
    ), 0) AS most_out,
    coalesce((j.options ->> 'window_factor')::int, 0) AS window_factor,
    coalesce((j.options ->> 'reserve_slots')::int, 0) AS reserve_slots, j.client, j.type,
    coalesce(j.options ->> 'priority', 'normal') AS priority
FROM job j
LEFT JOIN (
    SELECT job, count(*) FILTER (WHERE state = 'dispatched') AS dispatched,
        count(*) FILTER (WHERE state = 'running') AS running
    FROM task WHERE state IN ('dispatched', 'running') GROUP BY job
) AS o ON o.job = j.id
CROSS JOIN LATERAL (
    SELECT count(*) AS pending FROM (
        SELECT 1 FROM task t WHERE t.job = j.id AND t.phase = j.phase AND t.state = 'pending' LIMIT %(limit)s
    ) AS first_ones
) AS p
WHERE j.state IN ('running', 'pausing', 'cancelling')
ORDER BY j.created_at, j.id;

-- name: reset_failures
-- A resumed job's tasks may fail anew as often as a fresh one's. Skips rows that are just being changed.
UPDATE task SET failures = 0
WHERE id IN (
    SELECT id FROM task WHERE job = %(job)s AND failures > 0 AND state <> 'done' FOR UPDATE SKIP LOCKED
);

-- name: notify
-- Wake the queue manager when this transaction commits.
SELECT pg_notify('edbench_tasks', '');

-- name: pending_payloads
-- The pending tasks of a phase with what they are to do, and what made them with which parsers, at most so many; for a
-- phase that has just begun.
SELECT t.id, t.weight, t.payload, t.origin, t.origin_token, o.parsers
FROM task t LEFT JOIN task o ON o.id = t.origin
WHERE t.job = %(job)s AND t.phase = %(phase)s AND t.state = 'pending' ORDER BY t.id LIMIT %(limit)s;

-- name: joined_tasks
-- Pending tasks whose work another one does from now on: they are over, with nothing done.
UPDATE task SET state = 'done', weight = 0, payload = '{}', finished_at = clock_timestamp()
WHERE id = ANY(%(tasks)s) AND state = 'pending';

-- name: of_several
-- Pending tasks whose work several tasks have made from now on: the one that they name made some of it.
UPDATE task SET origin_token = NULL WHERE id = ANY(%(tasks)s::uuid[]) AND state = 'pending';

-- name: recut_task
-- A pending task has less to do from now on, or more.
UPDATE task SET weight = %(weight)s, payload = %(payload)s::jsonb WHERE id = %(task)s AND state = 'pending';
