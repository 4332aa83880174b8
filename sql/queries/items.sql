-- Items with everything that is known of them.

-- name: items
-- Every wanted item of a job in the order of its container path.
SELECT i.id, i.parent, i.family_id, u.name AS custodian, u.display AS custodian_display, i.container_path, i.kind,
    i.container, i.media_type, i.name, i.bytes, i.sha256, i.path, t.state AS text_state, t.characters, t.pages,
    x.shard, e.codes
FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = i.id
LEFT JOIN item_index x ON x.item = i.id
LEFT JOIN (
    SELECT item, array_agg(DISTINCT code ORDER BY code) AS codes FROM exception WHERE job = %(job)s GROUP BY item
) e ON e.item = i.id
WHERE i.job = %(job)s
  @wanted_items
ORDER BY i.container_path, i.ordinal;

-- name: shards
-- The job's shards.
SELECT id, engine, location, documents FROM shard WHERE job = %(job)s ORDER BY id;

-- name: true_owners
-- Of the given items, who owns the only valid index document, with what a hit shows.
SELECT i.id, x.shard, x.owner, i.container_path, i.family_id, i.kind,
    i.media_type, u.display AS custodian
FROM item_index x
JOIN item i ON i.id = x.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE x.job = %(job)s AND x.item = ANY(%(items)s::uuid[]);
