-- Chain of custody.

-- name: note_action
-- Write down who did what. The caller has the job's row locked, so that the action before is known.
INSERT INTO operator_action (job, at, who, action, details, chain)
SELECT n.job, n.at, n.who, n.action, n.details, sha256(
    coalesce((SELECT a.chain FROM operator_action a WHERE a.job = n.job ORDER BY a.id DESC LIMIT 1), uuid_send(n.job))
    || convert_to(concat_ws(E'\n', extract(epoch FROM n.at)::text, n.who, n.action, n.details::text), 'UTF8'))
FROM (SELECT id AS job, clock_timestamp() AS at, %(who)s::text AS who, %(action)s::text AS action,
    %(details)s::jsonb AS details FROM job WHERE id = %(job)s) AS n;

-- name: suspension
-- Why a job is suspended and since when; no row when it is not.
SELECT reason, stopped_at AS since FROM job
WHERE id = %(job)s AND reason IS NOT NULL AND stopped_at IS NOT NULL AND state = 'suspended';

-- name: list_actions
-- Who did what, in the order that it was written down, with the hash that each has, the one that it should have, and the
-- text that this is over.
SELECT at, who, action, details, chain, hashed,
    sha256(coalesce(lag(chain) OVER (ORDER BY id), uuid_send(job)) || convert_to(hashed, 'UTF8')) AS expected
FROM (
    SELECT *, concat_ws(E'\n', extract(epoch FROM at)::text, who, action, details::text) AS hashed
    FROM operator_action WHERE job = %(job)s
) AS a
ORDER BY id;

-- name: custody_items
-- Items in the order of their ids, at most so many after one, with the task that read their text, the one that made that
-- task, and the one before.
SELECT i.id, u.display AS custodian, i.container_path, i.kind, i.container, i.media_type, i.bytes, i.sha256,
    i.content_hash, i.message_id_hash, t.state AS text_state,
    (SELECT array_agg(DISTINCT e.code ORDER BY e.code) FROM exception e WHERE e.item = i.id AND e.job = i.job) AS codes,
    k.id AS task, r.id AS before, o.id AS first
FROM (SELECT * FROM item WHERE job = %(job)s AND id > %(after)s ORDER BY id LIMIT %(limit)s) AS i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = i.id
LEFT JOIN item_index x ON x.item = i.id
LEFT JOIN task k ON k.job = i.job AND k.token = x.owner::uuid
LEFT JOIN task r ON r.id = k.origin AND k.phase IN ('index', 'ocr')
LEFT JOIN task o ON o.id = r.origin AND r.phase = 'index'
ORDER BY i.id;

-- name: custody_tasks
-- Tasks, each with its parser set; `joined`: several tasks made what it had to do, of which it names one.
SELECT id, phase, worker, finished_at, parsers, origin IS NOT NULL AND origin_token IS NULL AS joined
FROM task WHERE id = ANY(%(tasks)s::uuid[]);

-- name: custody_parsers
-- The parser sets that tasks of a job were done with.
SELECT id, contents FROM parser_set WHERE id IN (SELECT parsers FROM task WHERE job = %(job)s) ORDER BY id;
