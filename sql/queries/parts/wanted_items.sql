-- Items (i) of custodians (u) that pass every filter that is not null: `exception` is a code, or `any`; `conditions` is a
-- JSON list of key, op, value and kind, as controller.browse.item_filter makes it. Of a list any element may be what is asked for;
-- a date is compared as far as both are given; text is compared without regard to case.
AND (%(custodian)s::text IS NULL OR u.display = %(custodian)s::text)
AND (%(type)s::text IS NULL OR i.media_type = %(type)s::text)
AND (%(kind)s::text IS NULL OR i.kind = %(kind)s::text)
AND (%(exception)s::text IS NULL OR EXISTS (
    SELECT 1 FROM exception f
    WHERE f.item = i.id AND f.job = i.job AND %(exception)s::text IN ('any', f.code)))
AND (%(text_state)s::text IS NULL OR EXISTS (
    SELECT 1 FROM item_text s WHERE s.item = i.id AND s.state = %(text_state)s::text))
AND (%(duplicate)s::boolean IS NULL OR %(duplicate)s::boolean = EXISTS (
    SELECT 1 FROM duplicate d WHERE d.item = i.id AND d.copy))
AND (%(near)s::boolean IS NULL OR %(near)s::boolean = EXISTS (
    SELECT 1 FROM near_duplicate n WHERE n.item = i.id AND n.item <> n.principal))
AND (%(system)s::boolean IS NULL OR %(system)s::boolean = EXISTS (SELECT 1 FROM system_file y WHERE y.item = i.id))
AND (%(conditions)s::jsonb IS NULL OR EXISTS (
    SELECT 1 FROM item_text m
    WHERE m.item = i.id AND NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(%(conditions)s::jsonb) AS c (key text, op text, value text, kind text)
        WHERE NOT EXISTS (
            SELECT 1
            FROM jsonb_array_elements_text(CASE jsonb_typeof(m.metadata -> c.key)
                WHEN 'array' THEN m.metadata -> c.key ELSE jsonb_build_array(m.metadata -> c.key) END) AS v (found)
            CROSS JOIN LATERAL (SELECT
                CASE c.kind WHEN 'date' THEN left(v.found, length(c.value)) ELSE lower(v.found) END COLLATE "C" AS a,
                CASE c.kind WHEN 'date' THEN left(c.value, greatest(4, length(v.found))) ELSE lower(c.value) END COLLATE "C" AS b) AS as_text
            CROSS JOIN LATERAL (SELECT CASE c.kind
                WHEN 'number' THEN sign(v.found::numeric - c.value::numeric)::int
                ELSE (a > b)::int - (a < b)::int END AS side) AS compared
            WHERE CASE c.op
                WHEN '=' THEN side = 0 WHEN '!=' THEN side <> 0 WHEN '<' THEN side < 0 WHEN '<=' THEN side <= 0
                WHEN '>' THEN side > 0 WHEN '>=' THEN side >= 0 ELSE strpos(a, b) > 0 END))))
