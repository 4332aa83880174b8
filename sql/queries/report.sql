-- What a job came to: counts for `edbench job show` and for its result.

-- name: count_kinds
-- Items by kind.
SELECT kind AS name, count(*) AS items, sum(bytes)::bigint AS bytes
FROM item WHERE job = %(job)s GROUP BY kind ORDER BY items DESC, kind;

-- name: count_media_types
-- Items by media type.
SELECT media_type AS name, count(*) AS items, sum(bytes)::bigint AS bytes
FROM item WHERE job = %(job)s GROUP BY media_type ORDER BY items DESC, media_type;

-- name: count_exceptions
-- Exceptions by code and level, with the children that are missing by them.
SELECT code, level, count(*) AS exceptions, coalesce(sum(missing), 0)::bigint AS missing
FROM exception WHERE job = %(job)s GROUP BY code, level ORDER BY exceptions DESC, code, level;

-- name: count_texts
-- Items by what became of their text.
SELECT state AS name, count(*) AS items, sum(characters)::bigint AS characters, sum(pages)::bigint AS pages
FROM item_text WHERE job = %(job)s GROUP BY state ORDER BY items DESC, state;

-- name: count_items
-- Items, and how many of them are containers.
SELECT count(*) AS items, count(*) FILTER (WHERE container) AS containers,
    count(*) FILTER (WHERE parent IS NULL) AS loose_files
FROM item WHERE job = %(job)s;

-- name: children_totals
-- Expected, emitted and failed children over all containers.
SELECT coalesce(sum(coalesce(announced, emitted + failed)), 0)::bigint AS expected,
    coalesce(sum(emitted), 0)::bigint AS emitted, coalesce(sum(failed), 0)::bigint AS failed,
    count(*) FILTER (WHERE remainder_unknown) AS remainder_unknown
FROM container_count WHERE job = %(job)s;

-- name: children_violations
-- Containers whose arithmetic does not hold: expected = emitted + failed, emitted = rows that name it as parent.
SELECT i.id, i.container_path, c.announced, c.emitted, c.failed, coalesce(r.rows, 0) AS rows
FROM container_count c
JOIN item i ON i.id = c.item
LEFT JOIN (
    SELECT parent, count(*) AS rows FROM item WHERE job = %(job)s AND parent IS NOT NULL GROUP BY parent
) r ON r.parent = c.item
WHERE c.job = %(job)s
  AND (c.announced <> c.emitted + c.failed OR c.emitted <> coalesce(r.rows, 0))
ORDER BY i.container_path LIMIT %(limit)s;

-- name: workers_of_job
-- Workers that lived while the job ran, and whether their frames are stored up to its end. `due` are those that
-- can still send: not stopped, and seen after that end or lately. One that did the job's tasks counts though it was not
-- seen since it began: a job can be over before that.
SELECT w.incarnation, w.box, w.frames_lost,
    w.frames_through >= extract(epoch FROM j.finished_at) AS complete, w.stopped_at IS NOT NULL AS stopped,
    w.stopped_at IS NULL AND w.seen_at > clock_timestamp() - make_interval(secs => %(seconds)s) AS due
FROM worker w, job j
WHERE j.id = %(job)s
  AND w.started_at <= coalesce(j.finished_at, clock_timestamp())
  AND (w.seen_at >= coalesce(j.first_claim_at, j.created_at)
    OR w.seen_at >= coalesce(j.first_claim_at, j.created_at) - make_interval(secs => %(seconds)s)
       AND EXISTS (SELECT FROM task t WHERE t.job = j.id AND t.worker = w.name))
ORDER BY w.name, w.started_at;

-- name: stops_of_job
-- When it stood still since its first claim, as what, why and for how long; what lasts still, until now.
SELECT state, reason, extract(epoch FROM coalesce(finished_at, clock_timestamp()) - started_at)::float8 AS seconds,
    finished_at IS NULL AS lasting
FROM job_pause WHERE job = %(job)s AND state IN ('paused', 'suspended')
UNION ALL
SELECT CASE WHEN reason IS NULL THEN 'paused' ELSE 'suspended' END, reason,
    extract(epoch FROM clock_timestamp() - stopped_at)::float8, true
FROM job WHERE id = %(job)s AND state IN ('paused', 'suspended') AND stopped_at IS NOT NULL
  AND first_claim_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM job_pause p WHERE p.job = job.id AND p.started_at = job.stopped_at);

-- name: outages_of_job
-- Seconds of its course in which this database did not answer, as far as queue managers noticed; several may note the same.
SELECT coalesce(sum(extract(epoch FROM upper(away) - lower(away))), 0)::float8
FROM job j, unnest((
    SELECT range_agg(tstzrange(o.ended_at - make_interval(secs => o.seconds), o.ended_at)) FROM outage o
) * tstzmultirange(tstzrange(j.first_claim_at, coalesce(j.finished_at, clock_timestamp())))) AS away
WHERE j.id = %(job)s AND j.first_claim_at IS NOT NULL;

-- name: workers_changed
-- How many workers a job was planned with, how many different names did its tasks, and which processes of these names
-- were gone before it ended, and how: left in good order, or last seen a while before the end; NULL where none was. One that
-- died and one that took its name when the job was resumed are two. Workers that leave a job that stands still, or is over
-- until it is requeued, left nothing; if it goes on from a standstill, they left it.
WITH span AS (
    SELECT id, workers_planned, first_claim_at AS began, coalesce(finished_at, stopped_at, clock_timestamp()) AS ended
    FROM job WHERE id = %(job)s
), worked AS (
    SELECT DISTINCT worker AS name FROM task WHERE job = %(job)s AND worker IS NOT NULL
)
SELECT s.workers_planned AS planned, (SELECT count(*) FROM worked) AS worked,
    (SELECT string_agg(
         CASE WHEN w.stopped_at < s.ended THEN format('%%s (%%s s before it)', w.name, round(extract(epoch FROM s.ended - w.stopped_at), 1))
         ELSE format('%%s (not seen for %%s s)', w.name, round(extract(epoch FROM s.ended - w.seen_at), 1)) END, ', ' ORDER BY w.name)
     FROM worker w JOIN worked k ON k.name = w.name
     WHERE w.started_at <= s.ended AND w.seen_at >= s.began
       AND (w.stopped_at < s.ended OR w.seen_at < s.ended - make_interval(secs => %(seconds)s))
       AND NOT EXISTS (SELECT FROM job_pause p WHERE p.job = s.id AND p.state = 'completed_with_exceptions'
         AND coalesce(w.stopped_at, w.seen_at) BETWEEN p.started_at AND p.finished_at)) AS lost
FROM span s;

-- name: job_span
-- First claim and end, seconds since the epoch on this database's clock; NULL where there is none yet.
SELECT extract(epoch FROM first_claim_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished
FROM job WHERE id = %(job)s;

-- name: job_held
-- From when until when it was held at a barrier, seconds since the epoch; NULL where it never was, or still is.
SELECT extract(epoch FROM min(started_at))::float8 AS started, extract(epoch FROM max(finished_at))::float8 AS finished
FROM job_pause WHERE job = %(job)s AND state = 'held';

-- name: server_version
-- The database server's version.
SELECT current_setting('server_version') AS version;
