-- An order's history is read by its order: one index that says both is enough. Its rows come from statements that read the
-- order's own row, and orders are never deleted, so a foreign key only asks again what is known: four times for each order.
ALTER TABLE order_history DROP CONSTRAINT order_history_order_id_fkey;
ALTER TABLE order_history DROP CONSTRAINT order_history_pkey;
ALTER TABLE order_history ADD PRIMARY KEY (order_id, id);
DROP INDEX order_history_order;

-- An attempt is written when it begins and changed once, when it is answered: on its own page, without new index entries.
ALTER TABLE order_attempts SET (fillfactor = 70);

-- Questions about names are notifications now. Processes of the version before still write registry_checks during an upgrade.
