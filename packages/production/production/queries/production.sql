-- Jobs that write files out of other jobs' items.
-- Rows of one job are asked for by `(SELECT %(job)s::uuid)` where there may be many: the planner does not see which job it is.
-- Where it does, and statistics know of earlier jobs alone, it takes this one to have a single row, and reads all of them for each.

-- name: production_tables
-- For the transaction that creates the job: what a search or a tag chose, what is withheld (`stated` by this job, not only by
-- the one whose pages it takes), and what is taken, by its source job's place among them and its own place there.
CREATE TEMP TABLE picked (item uuid PRIMARY KEY) ON COMMIT DROP;
CREATE TEMP TABLE withheld (item uuid PRIMARY KEY, stated boolean NOT NULL) ON COMMIT DROP;
CREATE TEMP TABLE taken (
    source int NOT NULL, place bigint NOT NULL, id uuid NOT NULL, family_id uuid, parent uuid, bytes bigint NOT NULL,
    characters bigint NOT NULL, shard uuid, name bytea NOT NULL, media_type text NOT NULL, PRIMARY KEY (source, place)
) ON COMMIT DROP;

-- name: production_tag_changes
-- How often items of these jobs were given one of these tags, or lost it.
SELECT count(*) AS changes FROM operator_action
WHERE job = ANY(%(jobs)s::uuid[]) AND action IN ('tagged', 'untagged') AND details ->> 'tag' = ANY(%(tags)s::text[])
  AND details ->> 'changed' <> '0';

-- name: production_sources_there
-- How many of these jobs are there.
SELECT count(*) AS jobs FROM job WHERE id = ANY(%(jobs)s::uuid[]);

-- name: production_evidence
-- What the discoveries of this database read, and the newest job of each; one that takes a discovery's items keeps its source where
-- that was deleted.
SELECT DISTINCT ON (source) source, id FROM job WHERE type <> 'replay' AND state <> 'deleting' ORDER BY source, created_at DESC;

-- name: production_pick
-- Some of what was chosen.
INSERT INTO picked SELECT item FROM unnest(%(items)s::uuid[]) AS given (item) ON CONFLICT DO NOTHING;

-- name: production_withhold
-- What is withheld of these jobs: items with one of these tags, `alike` those that equal them (by their bytes, or as messages
-- of which something is known), whatever they were found to be, what is inside either, and all that is in a family with any of these.
INSERT INTO withheld
WITH RECURSIVE tagged AS (
    SELECT i.id, i.sha256, nullif(i.content_hash, %(empty)s) AS content_hash, i.bytes
    FROM item i WHERE i.id IN (SELECT item FROM item_tag WHERE job = ANY(%(jobs)s::uuid[]) AND tag = ANY(%(tags)s::text[]))
), meant (id) AS (
    SELECT id FROM tagged
    UNION
    SELECT k.id FROM item k WHERE %(alike)s AND k.job = ANY(%(jobs)s::uuid[])
        AND (k.sha256 IN (SELECT sha256 FROM tagged WHERE bytes > 0)
            OR k.content_hash IN (SELECT content_hash FROM tagged WHERE content_hash IS NOT NULL))
), inside (id) AS (
    SELECT id FROM meant
    UNION
    SELECT i.id FROM inside n JOIN item i ON i.parent = n.id
)
SELECT i.id, %(stated)s FROM item i
WHERE i.job = ANY(%(jobs)s::uuid[]) AND (i.id IN (SELECT id FROM inside) OR i.family_id IN (
    SELECT f.family_id FROM item f JOIN inside n ON n.id = f.id WHERE f.family_id IS NOT NULL))
ON CONFLICT DO NOTHING;

-- name: production_withheld
-- How many items are withheld of what was chosen in these jobs.
SELECT count(*) AS items FROM withheld w JOIN item i ON i.id = w.item
WHERE (%(everything)s OR EXISTS (SELECT 1 FROM picked k WHERE k.item = i.id)) AND
    @produced_items
;

-- name: production_chosen
-- How many items were chosen in these jobs: of everything the containers that were read whole are none.
SELECT count(*) AS items FROM item i
WHERE i.job = ANY(%(jobs)s::uuid[]) AND CASE WHEN %(everything)s THEN
    @produced_items
    ELSE EXISTS (SELECT 1 FROM picked k WHERE k.item = i.id) END;

-- name: production_containers
-- How many of those that were chosen in these jobs are containers that were read whole.
SELECT count(*) AS items FROM picked p JOIN item i ON i.id = p.item WHERE NOT
    @produced_items
;

-- name: production_equal
-- How many items of a job equal one of these jobs that has one of these tags.
WITH tagged AS MATERIALIZED (
    SELECT i.sha256, nullif(i.content_hash, %(empty)s) AS content_hash, i.bytes
    FROM item i WHERE i.id IN (SELECT item FROM item_tag WHERE job = ANY(%(jobs)s::uuid[]) AND tag = ANY(%(tags)s::text[]))
)
SELECT count(*) AS items FROM production_item p JOIN item i ON i.id = p.item
WHERE p.job = %(job)s AND (i.sha256 IN (SELECT sha256 FROM tagged WHERE bytes > 0)
    OR i.content_hash IN (SELECT content_hash FROM tagged WHERE content_hash IS NOT NULL));

-- name: production_take
-- The items of a source job that are taken, in the order of their numbers: by custodian and path, a family together, its
-- topmost item first. Families are judged by that one where they are taken or left whole. Containers that were read whole are
-- not taken; of one that was read in part no bytes are written. What is in a container is attached to what that is attached to.
-- A loose file that a load file puts into a family is attached to its topmost item.
INSERT INTO taken
SELECT %(source)s, row_number() OVER (
        ORDER BY i.custodian, coalesce(top.container_path, i.container_path) COLLATE "C",
            length(coalesce(top.ordinal, i.ordinal)), coalesce(top.ordinal, i.ordinal), coalesce(top.id, i.id),
            i.id <> coalesce(top.id, i.id), i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.id),
    i.id, i.family_id,
    CASE WHEN i.id = i.family_id THEN NULL ELSE coalesce(CASE WHEN above.container THEN (
        WITH RECURSIVE up (id, parent, container) AS (
            SELECT above.id, above.parent, above.container
            UNION ALL
            SELECT p.id, p.parent, p.container FROM up JOIN item p ON p.id = up.parent WHERE up.container
        ) SELECT id FROM up WHERE NOT container
    ) ELSE i.parent END, i.family_id) END,
    CASE WHEN NOT i.container OR NOT EXISTS (SELECT 1 FROM item c WHERE c.parent = i.id) THEN i.bytes ELSE 0 END,
    coalesce(t.characters, 0), x.shard, i.name, i.media_type
FROM item i
LEFT JOIN item top ON top.id = i.family_id
LEFT JOIN item above ON above.id = i.parent
LEFT JOIN item_text t ON t.item = i.id
LEFT JOIN item_index x ON x.item = i.id
WHERE i.job = %(job)s AND
  @produced_items
  AND (%(everything)s OR EXISTS (SELECT 1 FROM picked k WHERE k.item = i.id))
  AND NOT EXISTS (SELECT 1 FROM withheld w WHERE w.item = i.id);

-- name: production_drop_system
-- Leaves out system files, of which there is one where its topmost item is, with families.
DELETE FROM taken t USING system_file y
WHERE y.item = CASE WHEN %(families)s THEN coalesce(t.family_id, t.id) ELSE t.id END;

-- name: production_drop_copies
-- Leaves out what was found to be a copy of something that is taken: of an original, else of the first of its copies. Families
-- are judged by their topmost item, and where families were compared, each member by itself is a copy of what has its bytes
-- in the other ones. An original inside another family counts where that is surely taken: its topmost item is no copy.
DELETE FROM taken t USING (
    SELECT j.id, d.copy AND (row_number() OVER (
            PARTITION BY d.original, CASE WHEN v.options ->> 'by' = 'family' AND j.id <> j.family_id
                THEN coalesce(i.sha256, i.content_hash, uuid_send(i.id)) END
            ORDER BY d.copy, j.source, j.place) > 1
        OR (o.id IS NOT NULL AND f.copy IS NOT TRUE)) AS spare
    FROM taken j
    JOIN duplicate d ON d.item = j.id
    JOIN item i ON i.id = j.id
    LEFT JOIN review v ON v.job = i.job AND v.kind = 'dedupe'
    LEFT JOIN taken o ON %(families)s AND o.id = d.original AND o.id <> o.family_id
    LEFT JOIN duplicate f ON f.item = o.family_id
    WHERE NOT %(families)s OR j.id = coalesce(j.family_id, j.id)
) AS s
WHERE s.spare AND s.id = CASE WHEN %(families)s THEN coalesce(t.family_id, t.id) ELSE t.id END;

-- name: production_without_original
-- Items that would be taken now and have no pages of a processing job, which took their original, as copies: their number, and the first.
SELECT i.container_path, count(*) OVER () AS items
FROM taken t JOIN item i ON i.id = t.id
JOIN duplicate d ON d.item = CASE WHEN %(families)s THEN coalesce(t.family_id, t.id) ELSE t.id END AND d.copy
WHERE NOT EXISTS (SELECT 1 FROM production_item p WHERE p.job = %(images)s AND p.item = t.id)
    AND EXISTS (
        SELECT 1 FROM production_item p JOIN duplicate o ON o.item = p.item JOIN withheld w ON w.item = p.item AND w.stated
        WHERE p.job = %(images)s AND o.original = d.original)
ORDER BY t.source, t.place LIMIT 3;

-- name: production_unfinished
-- Jobs that were made out of one of these and go by this tag, and have not ended.
SELECT id, type, state FROM job
WHERE type <> 'discovery' AND state NOT IN ('cancelled', 'completed', 'completed_with_exceptions', 'deleting')
  AND jsonb_exists_any(options -> 'production' -> 'sources', %(sources)s::text[])
  AND jsonb_exists(options -> 'production' -> 'goes_by', %(tag)s)
ORDER BY created_at;

-- name: production_returned
-- Of these items those that are taken: their number, and the first by the order of numbers.
SELECT i.container_path, count(*) OVER () AS items
FROM taken t JOIN item i ON i.id = t.id WHERE t.id = ANY(%(items)s::uuid[])
ORDER BY t.source, t.place LIMIT 3;

-- name: production_taken
-- Some of them.
SELECT source, place, id, family_id, parent, bytes, characters, shard, name, media_type
FROM taken WHERE (source, place) > (%(source)s, %(after)s) ORDER BY source, place LIMIT %(limit)s;

-- name: production_fallen
-- Items of a processing job that it would not take now, or not without what comes with it only as its family, and that this
-- job does not withhold: their number, and the first.
SELECT i.container_path, count(*) OVER () AS items
FROM production_item p JOIN item i ON i.id = p.item LEFT JOIN withheld w ON w.item = p.item
WHERE p.job = %(job)s AND w.stated IS NOT TRUE AND (w.item IS NOT NULL OR p.item = ANY(%(returned)s::uuid[])
    OR NOT (%(everything)s OR EXISTS (SELECT 1 FROM picked k WHERE k.item = p.item)))
ORDER BY p.number LIMIT 3;

-- name: production_imaged_withheld
-- How many items of a processing job this one withholds.
SELECT count(*) AS items FROM production_item p JOIN withheld w ON w.item = p.item WHERE p.job = %(job)s AND w.stated;

-- name: production_imaged
-- The items of a processing job that are not withheld, with the numbers that their pages have.
SELECT p.number, p.item, p.source_job, p.family_first, p.family_last, p.parent, p.volume, p.folder, p.suffix, p.bytes,
    p.shard, p.pages, p.first_page
FROM production_item p WHERE p.job = %(job)s
  AND NOT EXISTS (SELECT 1 FROM withheld w WHERE w.item = p.item AND w.stated) ORDER BY p.number;

-- name: production_holding
-- Items of a job whose bytes hold an item that was not chosen, or is withheld; a container that was read whole is what it holds.
WITH RECURSIVE inside (number, id) AS (
    SELECT p.number, i.id FROM production_item p JOIN item i ON i.parent = p.item WHERE p.job = (SELECT %(job)s::uuid)
    UNION ALL
    SELECT n.number, i.id FROM inside n JOIN item i ON i.parent = n.id
)
SELECT DISTINCT n.number FROM inside n JOIN item i ON i.id = n.id
WHERE
  @produced_items
  AND NOT EXISTS (SELECT 1 FROM production_item q WHERE q.job = (SELECT %(job)s::uuid) AND q.item = n.id)
  AND (i.id IN (SELECT item FROM withheld) OR NOT (%(everything)s OR EXISTS (SELECT 1 FROM picked k WHERE k.item = i.id)))
ORDER BY n.number;

-- name: production_gaps
-- Numbers of a processing job's items that the job which takes its pages has not, some of them after one.
SELECT q.number, q.pages, q.first_page FROM production_item q
WHERE q.job = (SELECT %(images)s::uuid) AND q.number > %(after)s
  AND NOT EXISTS (SELECT 1 FROM production_item p WHERE p.job = (SELECT %(job)s::uuid) AND p.number = q.number)
ORDER BY q.number LIMIT %(limit)s;

-- name: insert_production_items
-- The items of a new job.
INSERT INTO production_item (job, number, item, source_job, family_first, family_last, parent, volume, folder, suffix,
    bytes, shard, pages, first_page)
SELECT %(job)s, number, item, source_job, family_first, family_last, parent, volume, folder, suffix, bytes, shard, pages,
    first_page
FROM json_to_recordset(%(rows)s::json) AS r (number bigint, item uuid, source_job uuid, family_first bigint,
    family_last bigint, parent bigint, volume int, folder int, suffix text, bytes bigint, shard uuid, pages int,
    first_page bigint);

-- name: put_production_files
-- What a claim has written; a claim before it may have written the same.
INSERT INTO production_file (job, number, kind, page, path, bytes, sha256, md5)
SELECT %(job)s, number, kind, page, path, bytes, decode(sha256, 'hex'), decode(md5, 'hex')
FROM json_to_recordset(%(rows)s::json)
    AS r (number bigint, kind text, page int, path text, bytes bigint, sha256 text, md5 text)
ORDER BY number, kind, page
ON CONFLICT (job, number, kind, page) DO UPDATE SET path = excluded.path, bytes = excluded.bytes,
    sha256 = excluded.sha256, md5 = excluded.md5;

-- name: put_production_pages
-- How many pages were made of items.
UPDATE production_item p SET pages = r.pages
FROM json_to_recordset(%(rows)s::json) AS r (number bigint, pages int)
WHERE p.job = (SELECT %(job)s::uuid) AND p.number = r.number;

-- name: number_production_pages
-- The barrier behind the rendering: pages are numbered through, in the order of the items.
UPDATE production_item p SET first_page = n.first_page
FROM (
    SELECT number, (%(first)s + sum(pages) OVER (ORDER BY number) - pages)::bigint AS first_page
    FROM production_item WHERE job = (SELECT %(job)s::uuid) AND pages IS NOT NULL
) AS n
WHERE p.job = (SELECT %(job)s::uuid) AND p.number = n.number;

-- name: production_alone
-- Jobs that are created, or whose pages are numbered, at the same moment look at each other's numbers one after another.
SELECT pg_advisory_xact_lock(hashtext('numbers of productions'));

-- name: production_siblings
-- Jobs that number items of one of these, too, and what they were created with.
SELECT id, options FROM job
WHERE type IN ('processing', 'export') AND id <> %(job)s AND state NOT IN ('cancelled', 'deleting')
  AND jsonb_exists_any(options -> 'production' -> 'sources', %(sources)s::text[])
ORDER BY id;

-- name: production_range
-- The first and the last number of a job: of pages where these have numbers, and whether they have.
SELECT min(coalesce(first_page, number)) AS first, max(coalesce(first_page + pages - 1, number)) AS last,
    coalesce(bool_or(first_page IS NOT NULL), FALSE) AS paged
FROM production_item WHERE job = %(job)s;

-- name: production_clash
-- Whether a number between these is one thing in a job and something else in another one, which has given it too: where two
-- items' numbers overlap they have to be one item, and to begin alike. `paged`: by numbers of pages, where there are any. Of one
-- job no two overlap, so that of the other's items before an end the last one is the only one to look at. Nothing is joined:
-- there are no statistics of a new job's rows.
WITH given AS (
    SELECT job = %(job)s AS ours, item, CASE WHEN %(paged)s THEN coalesce(first_page, number) ELSE number END AS begins,
        CASE WHEN %(paged)s THEN coalesce(first_page + pages - 1, number) ELSE number END AS ends
    FROM production_item WHERE job IN (%(job)s, %(other)s)
), near AS (
    SELECT * FROM given WHERE ends >= %(first)s AND begins <= %(last)s
)
SELECT EXISTS (
    SELECT 1 FROM near GROUP BY begins HAVING count(DISTINCT item) > 1
) OR EXISTS (
    SELECT 1 FROM (
        SELECT ours, begins, max(begins) FILTER (WHERE NOT ours) OVER w AS theirs,
            max(ends) FILTER (WHERE NOT ours) OVER w AS until
        FROM near
        WINDOW w AS (ORDER BY CASE WHEN ours THEN ends ELSE begins END, ours ROWS UNBOUNDED PRECEDING)
    ) AS n WHERE ours AND theirs <> begins AND until >= begins
) AS found;

-- name: production_texts
-- What of one shard a job takes, in the order of the numbers, with the owner of the document that counts; NULL: the item's is
-- not in this shard any more.
SELECT p.number, p.item, p.volume, p.folder, p.first_page, x.owner
FROM production_item p LEFT JOIN item_index x ON x.item = p.item AND x.shard = p.shard
WHERE p.job = (SELECT %(job)s::uuid) AND p.shard = %(shard)s AND p.number BETWEEN %(first)s AND %(last)s
ORDER BY p.number;

-- name: production_shard
-- Where a shard is, and whose.
SELECT job, engine, location FROM shard WHERE id = %(shard)s;

-- name: production_batch
-- The items of one task, by number, with the codes of the exceptions of the job that found them.
SELECT p.number, p.item, p.source_job, p.volume, p.folder, p.suffix, p.pages, p.first_page,
    ARRAY(SELECT DISTINCT e.code FROM exception e WHERE e.item = p.item AND e.job = p.source_job ORDER BY e.code) AS codes
FROM production_item p
WHERE p.job = (SELECT %(job)s::uuid) AND p.number BETWEEN %(first)s AND %(last)s ORDER BY p.number;

-- name: production_natives
-- The items of one task by number, with what says where their bytes are; size NULL: the item has gone. A container some of which
-- was read has no native: its items have theirs, or are withheld.
SELECT p.number, p.item, p.source_job, p.volume, p.folder, p.suffix, p.first_page,
    CASE WHEN i.parent IS NULL THEN i.ordinal END AS path, i.location, i.name, i.bytes AS size,
    CASE WHEN NOT i.container OR NOT EXISTS (SELECT 1 FROM item c WHERE c.parent = i.id OFFSET 0) THEN i.sha256 END AS sha256
FROM production_item p LEFT JOIN LATERAL (SELECT * FROM item WHERE id = p.item OFFSET 0) AS i ON TRUE
WHERE p.job = (SELECT %(job)s::uuid) AND p.number BETWEEN %(first)s AND %(last)s ORDER BY p.number;

-- name: production_images
-- The pages that another job made of the items of one task.
SELECT p.number, f.page, f.path, f.sha256
FROM production_item p
JOIN production_item q ON q.job = (SELECT %(images)s::uuid) AND q.item = p.item
JOIN production_file f ON f.job = q.job AND f.number = q.number AND f.kind = 'image'
WHERE p.job = (SELECT %(job)s::uuid) AND p.number BETWEEN %(first)s AND %(last)s ORDER BY p.number, f.page;

-- name: production_folders
-- Every folder of every volume.
SELECT DISTINCT volume, folder FROM production_item WHERE job = %(job)s ORDER BY volume, folder;

-- name: production_files_of
-- What was written of the items of one folder. Each item's files are looked up (`OFFSET 0`): joined, all files of the job would be
-- read for each folder.
SELECT f.path FROM production_item p CROSS JOIN LATERAL (
    SELECT path FROM production_file WHERE job = p.job AND number = p.number OFFSET 0
) AS f
WHERE p.job = (SELECT %(job)s::uuid) AND p.volume = %(volume)s AND p.folder = %(folder)s;

-- name: production_records
-- Items with everything that is told of them in load files and metadata, by number, those with numbers from one to another. These
-- are taken before anything is joined, and what belongs to each is looked up (`OFFSET 0`): statistics of a new job's rows are not
-- there yet, and all rows were joined each time. Others' pages are looked up only where pages have numbers.
-- Custodians of duplicates are the original's, of a family its topmost item's, in source jobs that were `deduped`;
-- exceptions are of this job, of the one that found the item, and of the one whose `images` are taken. Exceptions that the
-- discovery has of a container are also in the record of the item that holds it.
WITH RECURSIVE p AS MATERIALIZED (
    SELECT * FROM production_item WHERE job = (SELECT %(job)s::uuid) AND number BETWEEN %(first)s AND %(last)s
), own (number, source_job, id, job) AS (
    SELECT number, source_job, item, job FROM p
    UNION ALL
    SELECT own.number, own.source_job, c.id, NULL FROM own CROSS JOIN LATERAL (
        SELECT id FROM item WHERE parent = own.id AND container OFFSET 0
    ) AS c
), met AS (
    SELECT own.number, array_agg(DISTINCT e.code ORDER BY e.code) AS codes FROM own CROSS JOIN LATERAL (
        SELECT code FROM exception
        WHERE item = own.id AND (job = own.source_job OR (own.job IS NOT NULL AND job IN (own.job, %(images)s::uuid))) OFFSET 0
    ) AS e
    GROUP BY own.number
)
SELECT p.number, p.family_first, p.family_last, p.parent, p.volume, p.pages, p.first_page,
    i.id IS NULL AS gone, i.container_path, i.name, i.kind, i.media_type, i.bytes, i.sha256, i.message_id_hash, i.mtime_ns,
    u.display AS custodian, t.state AS text_state, t.pages AS found_pages, t.metadata,
    (SELECT coalesce(o.custodians, d.custodians) FROM duplicate d LEFT JOIN duplicate o ON o.item = d.original
        WHERE d.item = p.item AND p.source_job = ANY(%(deduped)s::uuid[])) AS custodians,
    met.codes,
    CASE WHEN p.first_page IS NOT NULL THEN
        (SELECT first_page FROM production_item WHERE job = p.job AND number = p.family_first) END AS family_first_page,
    CASE WHEN p.first_page IS NOT NULL THEN
        (SELECT first_page + pages - 1 FROM production_item WHERE job = p.job AND number = p.family_last) END AS family_last_page,
    CASE WHEN p.first_page IS NOT NULL THEN
        (SELECT first_page FROM production_item WHERE job = p.job AND number = p.parent) END AS parent_page
FROM p
LEFT JOIN met ON met.number = p.number
LEFT JOIN LATERAL (SELECT * FROM item WHERE id = p.item OFFSET 0) AS i ON TRUE
LEFT JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN LATERAL (SELECT * FROM item_text WHERE item = p.item OFFSET 0) AS t ON TRUE
ORDER BY p.number;

-- name: production_files
-- What was written of items with such numbers, in order.
SELECT number, kind, page, path, bytes, sha256, md5 FROM production_file
WHERE job = (SELECT %(job)s::uuid) AND number BETWEEN %(first)s AND %(last)s
ORDER BY number, kind, page;

-- name: production_written
-- Sums over what was written, by kind.
SELECT kind, count(*) AS files, sum(bytes)::bigint AS bytes FROM production_file WHERE job = %(job)s GROUP BY kind
ORDER BY kind;

-- name: production_ended
-- What of items a job has written, and the sha256 of its table of hashes, and of each report by its path, in hex.
SELECT count(*) FILTER (WHERE kind <> 'report') AS files,
    coalesce(sum(bytes) FILTER (WHERE kind <> 'report'), 0)::bigint AS bytes,
    max(encode(sha256, 'hex')) FILTER (WHERE kind = 'report' AND path = 'hashes.csv') AS hashes,
    coalesce(jsonb_object_agg(path, encode(sha256, 'hex')) FILTER (WHERE kind = 'report'), '{}') AS reports
FROM production_file WHERE job = %(job)s;

-- name: production_of
-- Jobs that are not over and take items of this one, or pages that it made.
SELECT id FROM job
WHERE (options -> 'production' -> 'sources' ? %(job)s OR options -> 'production' ->> 'images' = %(job)s)
  AND state NOT IN ('cancelled', 'completed', 'completed_with_exceptions', 'deleting')
ORDER BY id;

-- name: production_requeued
-- Of the jobs whose items this one took those that have ended once more since.
SELECT s.id FROM job j JOIN job s ON j.options -> 'production' -> 'sources' ? replace(s.id::text, '-', '')
WHERE j.id = %(job)s AND s.finished_at > j.created_at ORDER BY s.id;

-- name: production_kin
-- Jobs whose items this one took, and jobs that took its items, but for those that are being deleted.
SELECT k.id FROM job j JOIN job k ON k.options -> 'production' -> 'sources' ? replace(j.id::text, '-', '')
    OR j.options -> 'production' -> 'sources' ? replace(k.id::text, '-', '')
WHERE j.id = %(job)s AND k.id <> j.id AND k.state <> 'deleting'
ORDER BY k.id;

-- name: production_pages
-- Pages of the items of a processing job beside those that the discovery counted, by type; items with an exception, which may
-- be slip sheets, are left out, but for those of which some pages lack text alone.
SELECT i.media_type, count(*) AS items, sum(p.pages)::bigint AS pages, sum(t.pages)::bigint AS found_pages,
    count(*) FILTER (WHERE p.pages <> t.pages) AS differing
FROM production_item p JOIN item i ON i.id = p.item JOIN item_text t ON t.item = p.item
WHERE p.job = %(job)s AND p.pages IS NOT NULL
  AND NOT EXISTS (SELECT FROM exception e WHERE e.item = p.item AND e.job IN (p.job, p.source_job)
    AND NOT (e.job = p.source_job AND e.code = 'unsupported' AND t.metadata ? 'pages_without_text'))
GROUP BY i.media_type ORDER BY i.media_type;
