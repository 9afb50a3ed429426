-- How many times in a row a chore of the workers has failed.
ALTER TABLE chores ADD COLUMN failures integer NOT NULL DEFAULT 0;
