-- The last place of each era of events that has ended. A restored database has lost what came after it.
CREATE TABLE event_eras (
  era integer PRIMARY KEY,
  last_transaction xid8 NOT NULL,
  last_number bigint NOT NULL
);
INSERT INTO event_eras (era, last_transaction, last_number)
  SELECT DISTINCT ON (era) era, transaction, number FROM events
  WHERE era < (SELECT era FROM event_log) ORDER BY era, transaction DESC, number DESC;

-- A timeline belongs to the origin no more: a promotion is not a restore. Another database of the same cluster is one, and so is a
-- dump that was restored into the same database, which makes another table.
UPDATE event_log SET origin = concat_ws('/', system_identifier, database.oid, 'event_log'::regclass::oid)
  FROM pg_control_system(), pg_database AS database
  WHERE datname = current_database() AND split_part(origin, '/', 1) = system_identifier::text;
