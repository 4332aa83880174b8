-- Looking through a job's items and exceptions, a page at a time.

-- name: items_page
-- Wanted items of a job in the order of their container path, after the item `after`.
WITH page AS (
    SELECT i.*, u.name AS custodian_name
    FROM item i
    JOIN custodian u ON u.job = i.job AND u.number = i.custodian
    WHERE i.job = %(job)s
      @wanted_items
      AND (%(after)s::uuid IS NULL OR
          (i.container_path, i.id) > (SELECT a.container_path, a.id FROM item a WHERE a.id = %(after)s::uuid))
    ORDER BY i.container_path, i.id LIMIT %(limit)s
)
SELECT p.id, p.parent, p.family_id, p.custodian_name AS custodian, p.container_path, p.kind, p.container, p.media_type,
    p.name, p.bytes, p.sha256, t.state AS text_state, t.characters, t.pages, x.shard,
    (SELECT array_agg(DISTINCT e.code ORDER BY e.code) FROM exception e WHERE e.item = p.id) AS codes
FROM page p
LEFT JOIN item_text t ON t.item = p.id
LEFT JOIN item_index x ON x.item = p.id
ORDER BY p.container_path, p.id;

-- name: item_before
-- The wanted item that stands before this one in the order of container paths.
SELECT i.id FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE i.job = %(job)s
  @wanted_items
  AND (i.container_path, i.id) < (SELECT a.container_path, a.id FROM item a WHERE a.id = %(item)s)
ORDER BY i.container_path DESC, i.id DESC LIMIT 1;

-- name: last_item
-- The wanted item that stands last.
SELECT i.id FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE i.job = %(job)s
  @wanted_items
ORDER BY i.container_path DESC, i.id DESC LIMIT 1;

-- name: item_after
-- The one that stands behind it.
SELECT i.id FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE i.job = %(job)s
  @wanted_items
  AND (i.container_path, i.id) > (SELECT a.container_path, a.id FROM item a WHERE a.id = %(item)s)
ORDER BY i.container_path, i.id LIMIT 1;

-- name: item_whole
-- One item with everything that is known of it.
SELECT i.id, i.parent, i.family_id, u.name AS custodian, i.container_path, i.kind, i.container, i.media_type, i.name,
    i.bytes, i.sha256, t.state AS text_state, t.characters, t.pages, x.shard, i.depth, i.content_hash,
    i.message_id_hash, i.location, i.path, i.mtime_ns, t.metadata, c.announced, c.emitted, c.failed,
    c.remainder_unknown, x.owner,
    (SELECT array_agg(DISTINCT e.code ORDER BY e.code) FROM exception e WHERE e.item = i.id) AS codes
FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = i.id
LEFT JOIN item_index x ON x.item = i.id
LEFT JOIN container_count c ON c.item = i.id
WHERE i.job = %(job)s AND i.id = %(item)s;

-- name: items_between
-- Items whose ids lie between two, two at most: the beginning of an id means an item only where there is no second.
SELECT id FROM item WHERE job = %(job)s AND id BETWEEN %(low)s AND %(high)s ORDER BY id LIMIT 2;

-- name: item_exceptions
-- The exceptions of one item, in order of their recording.
SELECT code, level, phase, detail, missing FROM exception WHERE job = %(job)s AND item = %(item)s ORDER BY id;

-- name: item_ancestors
-- What an item lies in, outermost first, itself last.
WITH RECURSIVE up AS (
    SELECT i.*, 0 AS distance FROM item i WHERE i.job = %(job)s AND i.id = %(item)s
    UNION ALL
    SELECT i.*, up.distance + 1 FROM up JOIN item i ON i.id = up.parent
)
SELECT id, parent, depth, display AS name, kind, container, media_type, bytes,
    EXISTS (SELECT 1 FROM exception e WHERE e.item = up.id) AS failed
FROM up ORDER BY distance DESC;

-- name: items_below
-- A family, or (`family` null) the direct children of an item, each after what it lies in.
SELECT i.id, i.parent, i.depth, i.display AS name, i.kind, i.container, i.media_type, i.bytes,
    EXISTS (SELECT 1 FROM exception e WHERE e.item = i.id) AS failed
FROM item i
WHERE i.job = %(job)s
  AND CASE WHEN %(family)s::uuid IS NULL THEN i.parent = %(item)s ELSE i.family_id = %(family)s::uuid END
ORDER BY i.container_path, i.id LIMIT %(limit)s;

-- name: count_custodians
-- Items by custodian, those without items too.
SELECT u.display AS name, count(i.id) AS items, coalesce(sum(i.bytes), 0)::bigint AS bytes
FROM custodian u LEFT JOIN item i ON i.job = u.job AND i.custodian = u.number
WHERE u.job = %(job)s GROUP BY u.number, u.display ORDER BY items DESC, u.display;

-- name: exceptions_by
-- Exceptions by what `by` names (code, type or custodian), of one code if one is given.
SELECT coalesce(CASE %(by)s WHEN 'code' THEN e.code WHEN 'type' THEN i.media_type ELSE u.display END, '') AS name,
    count(*) AS exceptions, count(DISTINCT e.item) AS items, coalesce(sum(e.missing), 0)::bigint AS missing
FROM exception e
LEFT JOIN item i ON i.id = e.item
LEFT JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE e.job = %(job)s AND (%(code)s::text IS NULL OR e.code = %(code)s::text)
GROUP BY 1 ORDER BY 2 DESC, 1;

-- name: exceptions_page
-- Exceptions that pass every filter that is not null, in order of their recording, after number `after`.
SELECT e.id AS number, e.item, u.display AS custodian, i.container_path, i.kind, i.media_type, i.bytes, e.code,
    e.level, e.phase, e.detail, e.missing
FROM exception e
LEFT JOIN item i ON i.id = e.item
LEFT JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE e.job = %(job)s AND e.id > %(after)s
  AND (%(code)s::text IS NULL OR e.code = %(code)s::text)
  AND (%(type)s::text IS NULL OR i.media_type = %(type)s::text)
  AND (%(custodian)s::text IS NULL OR u.display = %(custodian)s::text)
ORDER BY e.id LIMIT %(limit)s;
