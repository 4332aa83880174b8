-- Jobs: states, phases, clocks and progress.

-- name: lock_job
-- The row under which state and phase are changed. FOR NO KEY UPDATE excludes every other change of the job just as
-- FOR UPDATE does, without holding up the foreign-key checks of rows that slots insert meanwhile.
SELECT id, state, phase FROM job WHERE id = %(job)s FOR NO KEY UPDATE;

-- name: keep_job
-- The job stays, with all that it found, until the transaction's end: whoever takes that away (lock_whole_job) waits. Its row may be
-- locked and changed by others meanwhile, as by each action that is written down.
SELECT id FROM job WHERE id = %(job)s FOR KEY SHARE;

-- name: lock_whole_job
-- As lock_job, and against those who keep the job, too: for whoever takes away what it found. To be asked for before any other lock
-- on the row: whoever keeps the job wants lock_job at the end.
SELECT id FROM job WHERE id = %(job)s FOR UPDATE;

-- name: hold_phase
-- The phase, which stays until the transaction's end: whoever changes it locks the row.
SELECT phase FROM job WHERE id = %(job)s FOR SHARE;

-- name: job_state
-- The state of a job; none where there is no such job.
SELECT state FROM job WHERE id = %(job)s;

-- name: job_options
-- What a job was created with.
SELECT options FROM job WHERE id = %(job)s;

-- name: set_options
-- What a job was created with, changed while it does not run.
UPDATE job SET options = %(options)s::jsonb WHERE id = %(job)s;

-- name: set_state
-- A new state without any effect on the clocks; what stands still keeps its reason.
UPDATE job SET state = %(state)s, reason = CASE WHEN stopped_at IS NULL THEN NULL ELSE reason END WHERE id = %(job)s;

-- name: stop_job
-- Paused or suspended since now. A pause stops the clocks, because an operator asked for it; a suspension does not: what
-- the system under test lost is charged to it. The job's own row says so until it goes on: on a full disk no other row
-- could be added.
UPDATE job SET state = %(state)s, reason = %(reason)s, stopped_at = coalesce(stopped_at, clock_timestamp())
WHERE id = %(job)s;

-- name: resume_job
-- Running again; the time it was paused is taken off its elapsed and that of the phase it stood in, that of a
-- suspension (which has a reason) is not. Time before the first claim never counted, so it is not taken off.
WITH pause AS (
    SELECT id, state, phase, reason, first_claim_at, stopped_at, greatest(clock_timestamp(), stopped_at) AS now,
        CASE WHEN reason IS NULL THEN greatest(0, extract(epoch FROM clock_timestamp() - stopped_at)) ELSE 0 END::float8
            AS seconds
    FROM job WHERE id = %(job)s
), of_phase AS (
    UPDATE job_phase p SET stopped_seconds = p.stopped_seconds + pause.seconds
    FROM pause WHERE p.job = pause.id AND p.phase = pause.phase AND p.finished_at IS NULL
), noted AS (
    INSERT INTO job_pause (job, state, reason, started_at, finished_at)
    SELECT id, CASE WHEN reason IS NOT NULL THEN 'suspended' WHEN state = 'held' THEN state ELSE 'paused' END, reason,
        stopped_at, now
    FROM pause WHERE stopped_at IS NOT NULL AND first_claim_at IS NOT NULL
    ON CONFLICT (job, started_at) DO UPDATE SET finished_at = excluded.finished_at
)
UPDATE job
SET state = 'running', reason = NULL, stopped_at = NULL,
    stopped_seconds = job.stopped_seconds + CASE WHEN pause.first_claim_at IS NULL THEN 0 ELSE pause.seconds END
FROM pause WHERE job.id = pause.id;

-- name: end_job
-- A final state; the clocks end here, and a pause that lasted until now is taken off.
WITH noted AS (
    INSERT INTO job_pause (job, state, reason, started_at, finished_at)
    SELECT id, CASE WHEN reason IS NULL THEN 'paused' ELSE 'suspended' END, reason, stopped_at,
        greatest(clock_timestamp(), stopped_at)
    FROM job WHERE id = %(job)s AND stopped_at IS NOT NULL AND first_claim_at IS NOT NULL
    ON CONFLICT (job, started_at) DO UPDATE SET finished_at = excluded.finished_at
)
UPDATE job
SET state = %(state)s, reason = NULL, finished_at = greatest(clock_timestamp(), first_claim_at), stopped_at = NULL,
    stopped_seconds = stopped_seconds + CASE WHEN first_claim_at IS NULL OR reason IS NOT NULL THEN 0
        ELSE greatest(0, extract(epoch FROM clock_timestamp() - stopped_at))::float8 END
WHERE id = %(job)s;

-- name: close_phase
-- The barrier: the phase ends now; one that nobody claimed a task of took no time.
INSERT INTO job_phase (job, phase, started_at, finished_at)
VALUES (%(job)s, %(phase)s, statement_timestamp(), statement_timestamp())
ON CONFLICT (job, phase) DO UPDATE SET finished_at = greatest(clock_timestamp(), job_phase.started_at);

-- name: enter_phase
-- The job is in its next phase.
UPDATE job SET phase = %(phase)s WHERE id = %(job)s;

-- name: final_state
-- What a job that did all its tasks ends as.
SELECT CASE WHEN EXISTS (SELECT 1 FROM exception WHERE job = %(job)s)
    THEN 'completed_with_exceptions' ELSE 'completed' END;

-- name: get_job
-- One job.
SELECT * FROM job WHERE id = %(job)s;

-- name: find_jobs
-- Jobs whose id begins with the given hexadecimal digits (hyphens left out), at most three.
SELECT * FROM job WHERE replace(id::text, '-', '') LIKE %(prefix)s || chr(37) ORDER BY created_at DESC LIMIT 3;

-- name: find_groups
-- The same for groups.
SELECT * FROM job_group WHERE replace(id::text, '-', '') LIKE %(prefix)s || chr(37) ORDER BY created_at DESC LIMIT 3;

-- name: list_groups
-- All groups, newest first.
SELECT * FROM job_group ORDER BY created_at DESC, id LIMIT %(limit)s;

-- name: insert_group
-- A group; its jobs are there already.
INSERT INTO job_group (id, name, kind, source, source_copies, members)
VALUES (%(group)s, %(name)s, %(kind)s, %(source)s, %(source_copies)s, %(members)s::jsonb);

-- name: delete_group
-- A group's row; its jobs are gone by then.
DELETE FROM job_group WHERE id = %(group)s;

-- name: insert_job
-- A job in its first phase.
INSERT INTO job (id, group_id, type, name, client, project, state, phase, source, source_device, source_inode, storage,
    options, workers_planned, slots_planned, surroundings)
VALUES (%(job)s, %(group)s, %(type)s, %(name)s, %(client)s, %(project)s, %(state)s, %(phase)s, %(source)s, %(device)s,
    %(inode)s, %(storage)s, %(options)s::jsonb, %(workers)s, %(slots)s, %(surroundings)s::jsonb);

-- name: job_labels
-- Those that were stored at the job's end.
SELECT labels, clock_timestamp() - finished_at > interval '1 second' * %(settle)s AS settled
FROM job WHERE id = %(job)s;

-- name: store_labels
-- Of a job that is over; the first that computed them wins.
UPDATE job SET labels = %(labels)s::jsonb WHERE id = %(job)s AND finished_at IS NOT NULL AND labels IS NULL;

-- name: custodians
-- The job's custodians by number, their names as bytes.
SELECT number, name FROM custodian WHERE job = %(job)s ORDER BY number;

-- name: list_jobs
-- All jobs, newest first.
SELECT * FROM job ORDER BY created_at DESC, id LIMIT %(limit)s;

-- name: delete_job
-- The job's row; everything of it goes along by cascade.
DELETE FROM job WHERE id = %(job)s;

-- name: elapsed
-- Seconds from the first claim to the end (or to when it was paused, or to now), less pauses; 0 before the first.
SELECT coalesce(greatest(0, extract(epoch FROM
    coalesce(finished_at, CASE WHEN reason IS NULL THEN stopped_at END, clock_timestamp()) - first_claim_at)
    - stopped_seconds), 0)::float8
FROM job WHERE id = %(job)s;

-- name: phase_elapsed
-- The same for each phase that has begun.
SELECT p.phase, greatest(0, extract(epoch FROM
    coalesce(p.finished_at, CASE WHEN j.reason IS NULL THEN j.stopped_at END, j.finished_at, clock_timestamp())
        - p.started_at)
    - p.stopped_seconds)::float8 AS seconds
FROM job_phase p JOIN job j ON j.id = p.job
WHERE p.job = %(job)s ORDER BY p.started_at;

-- name: phase_progress
-- Sums over the tasks of each phase.
SELECT phase,
    count(*) FILTER (WHERE state <> 'done') AS open, count(*) FILTER (WHERE state = 'done') AS done,
    coalesce(sum(weight) FILTER (WHERE state <> 'done'), 0)::bigint AS weight_open,
    coalesce(sum(weight) FILTER (WHERE state = 'done'), 0)::bigint AS weight_done,
    sum(items)::bigint AS items, sum(raw_bytes)::bigint AS raw_bytes,
    sum(extracted_bytes)::bigint AS extracted_bytes, sum(index_bytes)::bigint AS index_bytes
FROM task WHERE job = %(job)s GROUP BY phase;

-- name: job_counts
-- Rows that are counted one by one, and what the index comes to.
SELECT (SELECT count(*) FROM container_count WHERE job = %(job)s) AS containers,
    (SELECT count(*) FROM exception WHERE job = %(job)s) AS exceptions,
    (SELECT coalesce(sum(bytes), 0)::bigint FROM shard WHERE job = %(job)s) AS index_bytes;
