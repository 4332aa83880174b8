-- `edbench verify`: the manifest in temporary tables beside the job's rows. Every check puts what it finds into
-- `difference`; all of it is in one transaction and gone with it.

-- name: verify_tables
-- truth: the manifest; pair: manifest row → item; held: documents of the shards; hit: what searches gave.
CREATE TEMP TABLE truth (
    row bigint PRIMARY KEY, id uuid NOT NULL, custodian text, container_path text[], name bytea, ordinal bytea,
    kind text, container boolean, media_type text, bytes bigint, sha256 bytea, parent bigint, family bigint,
    depth int, pages int, duplicate_group bigint, exceptions text[], announced bigint, failed bigint,
    states text[]
) ON COMMIT DROP;
CREATE TEMP TABLE term (number int NOT NULL, row bigint NOT NULL) ON COMMIT DROP;
CREATE TEMP TABLE pair (row bigint NOT NULL, item uuid NOT NULL) ON COMMIT DROP;
CREATE TEMP TABLE held (shard uuid NOT NULL, item uuid NOT NULL, owner text NOT NULL) ON COMMIT DROP;
CREATE TEMP TABLE hit (number int NOT NULL, shard uuid NOT NULL, item uuid NOT NULL, owner text NOT NULL) ON COMMIT DROP;
CREATE TEMP TABLE difference (
    what text NOT NULL, kind text NOT NULL, container_path text[], expected text, found text
) ON COMMIT DROP;

-- name: verify_pair_by_id
-- Ids follow from job, parent and ordinal, so what was found where it lies has the id that the manifest implies.
INSERT INTO pair SELECT t.row, i.id FROM truth t JOIN item i ON i.id = t.id AND i.job = %(job)s;

-- name: verify_pair_index
-- For the joins to come.
CREATE UNIQUE INDEX ON pair (row); CREATE UNIQUE INDEX ON pair (item); ANALYZE pair; ANALYZE truth;

-- name: verify_pair_by_path
-- The rest by container path, equals in order of their ordinals; such a pair shows a wrong ordinal, at least.
INSERT INTO pair
SELECT t.row, i.id
FROM (
    SELECT row, container_path,
        row_number() OVER (PARTITION BY container_path ORDER BY length(ordinal), ordinal, row) AS occurrence
    FROM truth WHERE row NOT IN (SELECT row FROM pair)
) t JOIN (
    SELECT id, container_path,
        row_number() OVER (PARTITION BY container_path ORDER BY length(ordinal), ordinal, id) AS occurrence
    FROM item WHERE job = %(job)s AND NOT EXISTS (SELECT FROM pair WHERE pair.item = item.id)
) i USING (container_path, occurrence);

-- name: verify_missing
-- Rows of the manifest that no item stands for.
INSERT INTO difference SELECT 'missing', t.kind, t.container_path, 'an item', 'none'
FROM truth t WHERE NOT EXISTS (SELECT FROM pair p WHERE p.row = t.row);

-- name: verify_extra
-- Items that the manifest does not have.
INSERT INTO difference SELECT 'extra', i.kind, i.container_path, 'none', i.media_type
FROM item i WHERE i.job = %(job)s AND NOT EXISTS (SELECT FROM pair p WHERE p.item = i.id);

-- name: verify_fields
-- What is known of an item, field by field.
INSERT INTO difference
SELECT 'wrong ' || c.what, t.kind, t.container_path, coalesce(c.expected, 'none'), coalesce(c.found, 'none')
FROM truth t
JOIN pair p ON p.row = t.row
JOIN item i ON i.id = p.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text x ON x.item = i.id
LEFT JOIN pair parent ON parent.row = t.parent
LEFT JOIN pair family ON family.row = t.family
CROSS JOIN LATERAL (VALUES
    ('name', encode(t.name, 'escape'), encode(i.name, 'escape')),
    ('container path', array_to_string(t.container_path, ' / '), array_to_string(i.container_path, ' / ')),
    ('ordinal', encode(t.ordinal, 'escape'), encode(i.ordinal, 'escape')),
    ('custodian', t.custodian, u.display),
    ('kind', t.kind, i.kind),
    ('container flag', t.container::text, i.container::text),
    ('media type', t.media_type, i.media_type),
    ('bytes', t.bytes::text, i.bytes::text),
    ('sha256', encode(t.sha256, 'hex'), encode(i.sha256, 'hex')),
    ('depth', t.depth::text, i.depth::text),
    ('parent', parent.item::text, i.parent::text),
    ('family', family.item::text, i.family_id::text),
    ('pages', t.pages::text, CASE WHEN t.pages IS NOT NULL THEN x.pages::text END),
    ('text state', CASE WHEN x.state = ANY(t.states) THEN x.state ELSE array_to_string(t.states, ' or ') END,
        CASE WHEN t.states IS NOT NULL THEN x.state END)
) AS c (what, expected, found)
WHERE c.expected IS DISTINCT FROM c.found;

-- name: verify_exceptions
-- The set of codes of each item; an exception that nothing explains is as wrong as one that is not there. Where OCR read the
-- pages without text they are none.
INSERT INTO difference
SELECT 'wrong exceptions', t.kind, t.container_path, array_to_string(w.codes, ' '),
    array_to_string(coalesce(e.codes, '{}'), ' ')
FROM truth t
JOIN pair p ON p.row = t.row
LEFT JOIN item_text x ON x.item = p.item
CROSS JOIN LATERAL (VALUES (
    CASE WHEN x.metadata ? 'ocr' AND x.metadata ? 'pages_without_text' THEN array_remove(t.exceptions, 'unsupported')
        ELSE t.exceptions END
)) AS w (codes)
LEFT JOIN (
    SELECT item, array_agg(DISTINCT code ORDER BY code) AS codes FROM exception WHERE job = %(job)s GROUP BY item
) e ON e.item = p.item
WHERE w.codes <> coalesce(e.codes, '{}');

-- name: verify_containers
-- Children that each container announced and that failed, and those emitted against the rows of the manifest.
INSERT INTO difference
SELECT 'wrong children', t.kind, t.container_path, c.expected, c.found
FROM truth t
JOIN pair p ON p.row = t.row
LEFT JOIN container_count n ON n.item = p.item
LEFT JOIN (SELECT parent, count(*) AS children FROM truth WHERE parent IS NOT NULL GROUP BY parent) r ON r.parent = t.row
CROSS JOIN LATERAL (VALUES (
    format('announced %%s, emitted %%s, failed %%s', coalesce(t.announced::text, 'unknown'), coalesce(r.children, 0), t.failed),
    CASE WHEN n.item IS NULL THEN 'no counts'
        ELSE format('announced %%s, emitted %%s, failed %%s', coalesce(n.announced::text, 'unknown'), n.emitted, n.failed) END
)) AS c (expected, found)
WHERE t.failed IS NOT NULL AND c.expected <> c.found;

-- name: verify_duplicates
-- Items of one duplicate group have one hash; items of none share theirs with nobody.
INSERT INTO difference
SELECT 'wrong duplicate group', t.kind, t.container_path, 'same hash as ' || array_to_string(f.container_path, ' / '),
    'another hash'
FROM truth t
JOIN truth f ON f.row = t.duplicate_group
JOIN pair p ON p.row = t.row
JOIN pair q ON q.row = f.row
JOIN item i ON i.id = p.item
JOIN item j ON j.id = q.item
WHERE i.sha256 IS DISTINCT FROM j.sha256
UNION ALL
SELECT 'wrong duplicate group', t.kind, t.container_path, 'alone with its hash', n.items || ' items have it'
FROM truth t
JOIN pair p ON p.row = t.row
JOIN item i ON i.id = p.item
JOIN (
    SELECT sha256, count(*) AS items FROM item WHERE job = %(job)s AND bytes > 0 GROUP BY sha256 HAVING count(*) > 1
) n ON n.sha256 = i.sha256
WHERE t.duplicate_group IS NULL AND t.bytes > 0;

-- name: verify_texts
-- Every item has exactly one row that says what became of its text (at most one by the key).
INSERT INTO difference SELECT 'without text state', i.kind, i.container_path, 'one', 'none'
FROM item i WHERE i.job = %(job)s AND NOT EXISTS (SELECT FROM item_text x WHERE x.item = i.id);

-- name: verify_owners
-- Every item has one index owner, and the shard it names holds exactly one document of it by that owner.
INSERT INTO difference
SELECT 'wrong index document', i.kind, i.container_path,
    CASE WHEN x.item IS NULL THEN 'an owner' ELSE format('one by %%s in shard %%s', x.owner, x.shard) END,
    CASE WHEN x.item IS NULL THEN 'none' ELSE coalesce(h.documents, 0)::text END
FROM item i
LEFT JOIN item_index x ON x.item = i.id
LEFT JOIN (
    SELECT shard, item, owner, count(*) AS documents FROM held GROUP BY shard, item, owner
) h ON h.shard = x.shard AND h.item = x.item AND h.owner = x.owner
WHERE i.job = %(job)s AND (x.item IS NULL OR h.documents IS DISTINCT FROM 1);

-- name: verify_ghosts
-- Documents that no item owns; they are no difference, a re-run leaves them.
SELECT count(*) FROM held h
LEFT JOIN item_index x ON x.item = h.item AND x.shard = h.shard AND h.owner = x.owner
WHERE x.item IS NULL;

-- name: verify_terms
-- Searching a planted term gives exactly the items it was planted in. It may be missing where the text says of itself that it
-- may be wrong, and is allowed to.
WITH planted AS (
    SELECT DISTINCT m.number, p.item, x.state <> 'ok' AND x.state = ANY(t.states) AS unsure
    FROM term m
    JOIN pair p ON p.row = m.row
    JOIN truth t ON t.row = m.row
    LEFT JOIN item_text x ON x.item = p.item
), found AS (
    SELECT DISTINCT h.number, h.item FROM hit h
    JOIN item_index x ON x.item = h.item AND x.shard = h.shard AND h.owner = x.owner
)
INSERT INTO difference
SELECT CASE WHEN found.item IS NULL THEN 'term not found' ELSE 'term found elsewhere' END, i.kind, i.container_path,
    (%(terms)s::text[])[coalesce(planted.number, found.number) + 1],
    CASE WHEN found.item IS NULL THEN 'not a hit' ELSE 'a hit' END
FROM planted FULL JOIN found USING (number, item) JOIN item i ON i.id = item
WHERE (found.item IS NULL AND planted.unsure IS NOT TRUE) OR planted.item IS NULL;

-- name: verify_children
-- Every container's own arithmetic: announced = emitted + failed, and emitted = rows that name it as their parent.
INSERT INTO difference
SELECT 'children that do not add up', i.kind, i.container_path,
    format('announced %%s, rows %%s', coalesce(c.announced::text, 'unknown'), coalesce(r.rows, 0)),
    format('emitted %%s, failed %%s', c.emitted, c.failed)
FROM container_count c
JOIN item i ON i.id = c.item
LEFT JOIN (
    SELECT parent, count(*) AS rows FROM item WHERE job = %(job)s AND parent IS NOT NULL GROUP BY parent
) r ON r.parent = c.item
WHERE c.job = %(job)s AND (c.announced <> c.emitted + c.failed OR c.emitted <> coalesce(r.rows, 0));

-- name: verify_relations
-- Every parent and family that an item names is an item of the job, and is around it; or, where a load file was taken into
-- the source, another loose file of its custodian.
INSERT INTO difference
SELECT 'wrong relation', i.kind, i.container_path, 'a parent and a family of this job that contain it',
    format('parent %%s, family %%s', coalesce(i.parent::text, 'none'), coalesce(i.family_id::text, 'none'))
FROM item i
JOIN job j ON j.id = i.job
LEFT JOIN item p ON p.id = i.parent AND p.job = i.job
LEFT JOIN item f ON f.id = i.family_id AND f.job = i.job
WHERE i.job = %(job)s AND (
    (i.parent IS NOT NULL AND (p.id IS NULL OR p.depth <> i.depth - 1))
    OR (i.family_id IS NOT NULL AND (f.id IS NULL OR f.container))
    OR (i.family_id IS NULL AND NOT i.container)
    OR (p.family_id IS NOT NULL AND i.family_id IS DISTINCT FROM p.family_id)
    OR (p.family_id IS NULL AND i.family_id IS NOT NULL AND i.family_id <> i.id AND NOT (
        j.options ->> 'load_file' IS NOT DISTINCT FROM 'true' AND i.parent IS NULL AND f.parent IS NULL
        AND f.family_id IS NOT DISTINCT FROM f.id AND f.custodian = i.custodian))
);

-- name: verify_loose
-- Loose files by the job's custodians.
SELECT u.display AS custodian, count(i.id) AS items
FROM custodian u LEFT JOIN item i ON i.job = u.job AND i.custodian = u.number AND i.parent IS NULL
WHERE u.job = %(job)s GROUP BY u.number, u.display ORDER BY u.number;

-- name: verify_files
-- The next written files in the order of their items.
SELECT id, kind, container_path, location, bytes FROM item
WHERE job = %(job)s AND location IS NOT NULL AND id > %(after)s ORDER BY id LIMIT %(limit)s;

-- name: verify_known_locations
-- Which of these locations an item of the job has.
SELECT location FROM item WHERE job = %(job)s AND id = ANY(%(items)s::uuid[]) AND location IS NOT NULL;

-- name: add_difference
-- One more.
INSERT INTO difference VALUES (%(what)s, %(kind)s, %(path)s::text[], %(expected)s, %(found)s);

-- name: count_differences
-- By what is wrong and the kind of item.
SELECT what, kind, count(*) AS items FROM difference GROUP BY what, kind ORDER BY what, kind;

-- name: example_differences
-- The first few of each.
SELECT what, kind, container_path, coalesce(expected, '') AS expected, coalesce(found, '') AS found FROM (
    SELECT *, row_number() OVER (PARTITION BY what ORDER BY container_path, expected, found) AS n FROM difference
) d WHERE n <= %(limit)s ORDER BY what, n;
