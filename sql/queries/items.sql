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

-- name: load_items
-- Items as a task found them, in the order of the ids; ids without a row are left out.
SELECT i.id, i.parent, i.family_id AS family, i.custodian, i.ordinal, i.depth, i.name, i.container_path, i.kind, i.container,
    i.media_type, i.bytes AS size, i.sha256, i.content_hash, i.message_id_hash, i.location, i.mtime_ns
FROM unnest(%(items)s::uuid[]) WITH ORDINALITY AS wanted (id, place) JOIN item i USING (id) ORDER BY wanted.place;

-- name: load_texts
-- What became of the text of these items, where that is known.
SELECT item, state, characters, pages, metadata FROM item_text WHERE item = ANY(%(items)s::uuid[]);

-- name: item_codes
-- The item-level exceptions that these items have from the job that found them, not from jobs that took them since.
SELECT e.item, e.code FROM exception e JOIN item i ON i.id = e.item AND i.job = e.job
WHERE e.item = ANY(%(items)s::uuid[]) AND e.level = 'item';

-- name: item_locations
-- Where the items that have a row are written.
SELECT id, location FROM item WHERE id = ANY(%(items)s::uuid[]);

-- name: shard_ids
-- The shards that a finished task of the job has published to.
SELECT id FROM shard WHERE job = %(job)s;
