-- What was found out of items: when, out of which jobs, and the detail of it.

-- name: get_review
-- The latest finding of one kind in a job; `stale` when the job was processed again since.
SELECT r.token, r.options, r.figures, extract(epoch FROM r.created_at)::float8 AS created_at,
    coalesce(r.created_at < j.finished_at, true) AS stale
FROM review r JOIN job j ON j.id = r.job WHERE r.job = %(job)s AND r.kind = %(kind)s;

-- name: equals_of
-- The group of equals that an item is in, as far as it lies in these jobs, original first; of families the topmost items.
SELECT d.item, d.job, CASE WHEN d.copy THEN d.original END AS copy_of, u.display AS custodian, i.container_path
FROM duplicate d
JOIN item i ON i.id = d.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE d.job = ANY(%(jobs)s::uuid[]) AND d.original = %(original)s
    AND (NOT %(families)s OR i.family_id = i.id)
ORDER BY d.copy, u.name, i.container_path COLLATE "C", i.id LIMIT %(limit)s;

-- name: original_of
-- The original of the group of equals that an item is in.
SELECT original FROM duplicate WHERE job = %(job)s AND item = %(item)s;

-- name: thread_of
-- The thread that a message is in, as far as it lies in these jobs, in the order of its dates.
SELECT m.item, m.job, m.parent, m.depth, to_char(m.sent_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS sent_at,
    t.metadata ->> 'subject' AS subject, u.display AS custodian, i.container_path
FROM thread_message m
JOIN item i ON i.id = m.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = m.item
WHERE m.job = ANY(%(jobs)s::uuid[]) AND m.thread = %(thread)s
ORDER BY m.sent_at, m.depth, u.name, i.container_path COLLATE "C", i.id LIMIT %(limit)s;

-- name: thread_with
-- The thread that a message is in.
SELECT thread FROM thread_message WHERE job = %(job)s AND item = %(item)s;

-- name: principal_of
-- The principal of the group of near-duplicates that an item is in.
SELECT principal FROM near_duplicate WHERE job = %(job)s AND item = %(item)s;

-- name: near_of
-- The group of a principal, as far as it lies in these jobs, the principal first, then the more alike.
SELECT n.item, n.job, nullif(n.principal, n.item) AS near_to, n.similarity, u.display AS custodian, i.container_path
FROM near_duplicate n
JOIN item i ON i.id = n.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE n.job = ANY(%(jobs)s::uuid[]) AND n.principal = %(principal)s
ORDER BY n.item <> n.principal, n.similarity DESC, u.name, i.container_path COLLATE "C", i.id LIMIT %(limit)s;
