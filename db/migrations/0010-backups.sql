-- expand
-- When a backup of this database has succeeded: the program that made it says so. It stands in the database because every process
-- shows it.
CREATE TABLE backups (
  finished_at timestamptz PRIMARY KEY
);
