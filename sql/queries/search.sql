-- What searches ask of the ledger; tags, searches that are kept, and who did what.

-- name: index_state
-- What changes when a job's index does: an index that was opened while it was so may be kept when the job is over.
SELECT j.state, j.finished_at, count(s.id) AS shards, coalesce(sum(s.documents), 0)::bigint AS documents,
    coalesce(array_agg(DISTINCT s.engine) FILTER (WHERE s.engine IS NOT NULL), '{}') AS engines
FROM job j LEFT JOIN shard s ON s.job = j.id
WHERE j.id = %(job)s GROUP BY j.id;

-- name: owned_documents
-- How many items name each shard as the one that has their document.
SELECT shard, count(*) AS documents FROM item_index WHERE job = %(job)s GROUP BY shard;

-- name: shard_owners
-- The items that name this shard, and the owners that they name.
SELECT uuid_send(item) AS item, owner FROM item_index WHERE job = %(job)s AND shard = %(shard)s;

-- name: job_items
-- Every item with its family and custodian, in the order of the ids.
SELECT uuid_send(id) AS item, uuid_send(family_id) AS family, custodian FROM item WHERE job = %(job)s ORDER BY id;

-- name: job_custodians
-- Numbers and names.
SELECT number, display FROM custodian WHERE job = %(job)s ORDER BY number;

-- name: has_items
-- Whether an item has this media type, or this key in its metadata, of those that are given.
SELECT (%(media_type)s::text IS NULL OR EXISTS (SELECT 1 FROM item WHERE job = %(job)s AND media_type = %(media_type)s::text))
    AND (%(key)s::text IS NULL OR EXISTS (
        SELECT 1 FROM item_text WHERE job = %(job)s AND jsonb_exists(metadata, %(key)s::text))) AS found;

-- name: asked_items
-- Items that pass every filter that is not null, size and tag among them.
SELECT uuid_send(i.id) AS item
FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE i.job = %(job)s
  @wanted_items
  AND (%(least)s::bigint IS NULL OR i.bytes >= %(least)s::bigint)
  AND (%(most)s::bigint IS NULL OR i.bytes <= %(most)s::bigint)
  AND (%(tag)s::text IS NULL OR EXISTS (
      SELECT 1 FROM item_tag g WHERE g.job = i.job AND g.tag = %(tag)s::text AND g.item = i.id));

-- name: found_items
-- The first of these items in path order, with what a hit shows.
SELECT i.id, x.shard, x.owner, i.container_path, i.family_id, i.kind, i.media_type, u.display AS custodian
FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_index x ON x.item = i.id
WHERE i.job = %(job)s AND i.id = ANY(%(items)s::uuid[])
ORDER BY i.container_path COLLATE "C", i.id LIMIT %(limit)s;

-- name: found_facets
-- These items by media type and custodian.
SELECT i.media_type AS type, u.display AS custodian, count(*) AS items
FROM unnest(%(items)s::uuid[]) AS found (item)
JOIN item i ON i.id = found.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE i.job = %(job)s GROUP BY 1, 2;

-- name: items_there
-- Those of these items that the job has; with `families` everything in the families of those.
SELECT i.id FROM item i WHERE i.job = %(job)s AND (i.id = ANY(%(items)s::uuid[]) OR %(families)s AND i.family_id IN (
    SELECT f.family_id FROM item f WHERE f.job = %(job)s AND f.id = ANY(%(items)s::uuid[])));

-- name: add_tag
-- Give items a tag; those that have it keep who gave it first.
INSERT INTO item_tag (job, tag, item, tagged_by)
SELECT %(job)s, %(tag)s, item, %(who)s FROM unnest(%(items)s::uuid[]) AS given (item)
ON CONFLICT DO NOTHING;

-- name: remove_tag
-- Take a tag from items.
DELETE FROM item_tag WHERE job = %(job)s AND tag = %(tag)s AND item = ANY(%(items)s::uuid[]);

-- name: list_tags
-- Tags with how many items have each (those that a requeue took out aside), and when it was first and last given.
SELECT tag, count(*) AS items, min(tagged_at) AS first_at, max(tagged_at) AS last_at
FROM item_tag g
WHERE g.job = %(job)s AND EXISTS (SELECT 1 FROM item i WHERE i.id = g.item AND i.job = g.job)
GROUP BY tag ORDER BY tag;

-- name: tags_given
-- Those of the tags that an item has, or had until a requeue took it out.
SELECT tag FROM unnest(%(tags)s::text[]) asked(tag)
WHERE EXISTS (SELECT 1 FROM item_tag g WHERE g.job = %(job)s AND g.tag = asked.tag);

-- name: item_tags
-- The tags of one item, with who gave them and when.
SELECT tag, tagged_at, tagged_by FROM item_tag WHERE job = %(job)s AND item = %(item)s ORDER BY tag;

-- name: put_search
-- Keep a search under its name, instead of the one that had it.
INSERT INTO saved_search (job, name, query, saved_by) SELECT id, %(name)s, %(query)s, %(who)s FROM job WHERE id = %(job)s
ON CONFLICT (job, name) DO UPDATE SET query = excluded.query, saved_at = now(), saved_by = excluded.saved_by;

-- name: remove_search
-- Forget a search.
DELETE FROM saved_search WHERE job = %(job)s AND name = %(name)s;

-- name: list_searches
-- The searches that are kept, by name.
SELECT name, query, saved_at, saved_by FROM saved_search WHERE job = %(job)s ORDER BY name;
