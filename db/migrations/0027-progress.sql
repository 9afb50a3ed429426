-- What every table with rows that have work to do has: next_step_at, which says when, and a version, which counts every
-- change of what the row says. A trigger counts, so that whoever forgets it, or is an older version of the program, does
-- not hide a change.
CREATE FUNCTION count_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;

-- Tells the workers that a row is due: the first argument is the machine's name. A second one is the column with the row's
-- owner, which is added to it.
CREATE FUNCTION row_is_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('row_due', CASE TG_NARGS WHEN 1 THEN TG_ARGV[0]
    ELSE TG_ARGV[0] || ':' || (to_jsonb(NEW) ->> TG_ARGV[1]) END);
  RETURN NULL;
END $$;
