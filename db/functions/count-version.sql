-- A version counts every change of what a row with work to do says. A trigger counts, so that no statement that forgets it hides a
-- change.
CREATE OR REPLACE FUNCTION count_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;
