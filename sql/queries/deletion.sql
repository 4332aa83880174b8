-- Deleting a job of any size.

-- name: delete_items
-- The items of a job that come next after an id, at most so many; the last of their ids, no row where there were none.
WITH next_ones AS MATERIALIZED (
    SELECT id FROM item WHERE job = %(job)s AND id > %(after)s ORDER BY id LIMIT %(limit)s
), gone AS (
    DELETE FROM item USING next_ones WHERE item.id = next_ones.id
)
SELECT id FROM next_ones ORDER BY id DESC LIMIT 1;
