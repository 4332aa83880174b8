-- Slots that died while they read an item (design §3.8).

-- name: record_death
-- One death; a second report of the same claim changes nothing.
INSERT INTO death (job, phase, task, token, item, parent, loose, seconds, taken, cause, detail, worker)
VALUES (%(job)s, %(phase)s, %(task)s, %(token)s, %(item)s, %(parent)s, %(loose)s, %(seconds)s, %(taken)s, %(cause)s,
    %(detail)s, %(worker)s)
ON CONFLICT DO NOTHING;

-- name: cost_anything
-- Whether a slot died in the job, or a loose file took long in this phase: most tasks of most jobs need ask no further.
SELECT EXISTS (SELECT 1 FROM death WHERE job = %(job)s)
    OR EXISTS (SELECT 1 FROM loose_cost WHERE job = %(job)s AND phase = %(phase)s);

-- name: convicted
-- Items that were being read at two deaths or more, with the latest cause.
SELECT item, (array_agg(cause ORDER BY created_at DESC, token))[1] AS cause,
    (array_agg(detail ORDER BY created_at DESC, token))[1] AS detail
FROM death WHERE job = %(job)s AND item IS NOT NULL
GROUP BY item HAVING count(*) >= 2;

-- name: untouchable
-- Items that killed again after they were convicted.
SELECT item FROM death WHERE job = %(job)s AND item IS NOT NULL GROUP BY item HAVING count(*) >= 3;

-- name: deaths
-- All deaths of a phase, oldest first.
SELECT task, item, parent, loose, seconds, taken, cause, detail FROM death
WHERE job = %(job)s AND phase = %(phase)s ORDER BY created_at, task, token;

-- name: loose_seconds
-- Seconds spent on certain loose files, and on those that took the most.
SELECT loose, seconds FROM loose_cost
WHERE job = %(job)s AND phase = %(phase)s AND (seconds >= %(at_least)s OR loose = ANY(%(loose)s::uuid[]));

-- name: add_loose_seconds
-- What a task spent on loose files that others work on too.
INSERT INTO loose_cost (job, phase, loose, seconds)
SELECT %(job)s, %(phase)s, loose, seconds
FROM json_to_recordset(%(rows)s::json) AS r (loose uuid, seconds float8)
ORDER BY loose
ON CONFLICT (job, phase, loose) DO UPDATE SET seconds = loose_cost.seconds + excluded.seconds;

-- name: ancestors
-- Each of the given items with all that lies around it, innermost first.
WITH RECURSIVE up AS (
    SELECT i.id AS item, i.id, i.parent, i.bytes, 0 AS above FROM item i WHERE i.id = ANY(%(items)s::uuid[])
    UNION ALL
    SELECT up.item, i.id, i.parent, i.bytes, up.above + 1 FROM up JOIN item i ON i.id = up.parent
)
SELECT item, id, bytes FROM up ORDER BY item, above;
