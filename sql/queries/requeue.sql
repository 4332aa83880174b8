-- Going over the exceptions of a finished job again.

-- name: requeue_roots
-- The loose files that have an exception, or hold something that has one, numbered, in a table that is gone with the
-- transaction; of one code if one is given. A link or a special file stays what it is, so nothing would come of those.
-- There may be millions: UNION in place of UNION ALL and DISTINCT would hold all of them in memory.
CREATE TEMP TABLE requeue_root ON COMMIT DROP AS
WITH RECURSIVE up AS (
    SELECT i.id, i.parent
    FROM exception e JOIN item i ON i.id = e.item
    WHERE e.job = %(job)s AND e.code NOT IN ('symlink', 'special_file')
      AND (%(code)s::text IS NULL OR e.code = %(code)s::text)
    UNION ALL
    SELECT p.id, p.parent FROM up JOIN item p ON p.id = up.parent
)
SELECT row_number() OVER (ORDER BY i.custodian, i.path) AS number, i.id, i.custodian, i.path, i.bytes, i.mtime_ns,
    i.media_type
FROM (SELECT DISTINCT id FROM up WHERE parent IS NULL) r JOIN item i ON i.id = r.id;
CREATE UNIQUE INDEX ON requeue_root (number); ANALYZE requeue_root;

-- name: requeue_some
-- The next of these, at most so many.
SELECT id, custodian, path, bytes, mtime_ns, media_type FROM requeue_root
WHERE number > %(after)s ORDER BY number LIMIT %(limit)s;

-- name: requeue_remove
-- Takes out loose files with everything inside them, and what the done tasks had counted for it.
WITH RECURSIVE tree AS (
    SELECT id FROM item WHERE id = ANY(%(roots)s::uuid[])
    UNION ALL
    SELECT i.id FROM tree JOIN item i ON i.parent = tree.id
), failures AS (
    DELETE FROM exception e USING tree WHERE e.job = %(job)s AND e.item = tree.id
), deaths AS (
    DELETE FROM death d
    WHERE d.job = %(job)s AND (d.item IN (SELECT id FROM tree) OR d.loose = ANY(%(roots)s::uuid[]))
), costs AS (
    DELETE FROM loose_cost c WHERE c.job = %(job)s AND c.loose = ANY(%(roots)s::uuid[])
), texts AS (
    SELECT count(*) AS texts, count(*) FILTER (WHERE t.metadata ? 'ocr') AS by_ocr
    FROM item_text t JOIN tree ON tree.id = t.item
), gone AS (
    DELETE FROM item i USING tree WHERE i.id = tree.id
    RETURNING CASE WHEN i.parent IS NULL AND i.sha256 IS NOT NULL THEN i.bytes ELSE 0 END AS raw,
        CASE WHEN i.location IS NOT NULL THEN i.bytes ELSE 0 END AS extracted
)
SELECT count(*) AS items, coalesce(sum(raw), 0)::bigint AS raw_bytes,
    coalesce(sum(extracted), 0)::bigint AS extracted_bytes, (SELECT texts FROM texts) AS texts,
    (SELECT by_ocr FROM texts) AS by_ocr
FROM gone;

-- name: requeue_correction
-- A done task that takes back what others had counted, so that sums over tasks stay right.
INSERT INTO task (job, phase, state, weight, payload, items, raw_bytes, extracted_bytes, finished_at)
VALUES (%(job)s, %(phase)s, 'done', 0, jsonb_build_object('requeued', %(requeued)s::int), - %(items)s::bigint,
    - %(raw_bytes)s::bigint, - %(extracted_bytes)s::bigint, clock_timestamp());

-- name: requeue_job
-- Paused since it ended, in the phase that it is to go on with; the time in between is taken off when it is resumed.
WITH ended AS (
    SELECT id, state, finished_at FROM job WHERE id = %(job)s
), noted AS (
    INSERT INTO job_pause (job, state, started_at) SELECT id, state, finished_at FROM ended
), of_phase AS (
    UPDATE job_phase p
    SET stopped_seconds = p.stopped_seconds + extract(epoch FROM ended.finished_at - p.finished_at)::float8,
        finished_at = NULL
    FROM ended WHERE p.job = ended.id AND p.phase = %(phase)s
)
UPDATE job SET state = 'paused', phase = %(phase)s, stopped_at = ended.finished_at, finished_at = NULL, reason = NULL,
    labels = NULL
FROM ended WHERE job.id = ended.id;

-- name: reopen_phase
-- A phase that is entered once more: the time since it ended was not its own.
UPDATE job_phase
SET stopped_seconds = stopped_seconds + extract(epoch FROM clock_timestamp() - finished_at)::float8, finished_at = NULL
WHERE job = %(job)s AND phase = %(phase)s AND finished_at IS NOT NULL;

-- name: requeued_files
-- How many loose files of a job were gone over again.
SELECT coalesce(sum((payload ->> 'requeued')::int), 0)::bigint AS files
FROM task WHERE job = %(job)s AND payload ? 'requeued';
