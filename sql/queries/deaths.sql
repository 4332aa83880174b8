-- Slots that died while they read an item (design §3.8).

-- name: record_death
-- One death; a second report of the same attempt changes nothing.
INSERT INTO death (job, task, attempt, item, cause, detail, worker)
VALUES (%(job)s, %(task)s, %(attempt)s, %(item)s, %(cause)s, %(detail)s, %(worker)s)
ON CONFLICT DO NOTHING;

-- name: convicted
-- Items that were being read at two deaths or more, with the latest cause.
SELECT item, (array_agg(cause ORDER BY created_at DESC, attempt DESC))[1] AS cause,
    (array_agg(detail ORDER BY created_at DESC, attempt DESC))[1] AS detail
FROM death WHERE job = %(job)s
GROUP BY item HAVING count(*) >= 2;

-- name: untouchable
-- Items that killed again after they were convicted.
SELECT item FROM death WHERE job = %(job)s GROUP BY item HAVING count(*) >= 3;
