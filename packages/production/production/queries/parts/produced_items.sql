-- Items (i) that a production takes: all but containers that were read whole. One with an exception has a record and a slip
-- sheet: what of it could not be read is evidence that nobody has seen.
(NOT i.container OR EXISTS (SELECT 1 FROM exception e WHERE e.item = i.id AND e.job = i.job))
