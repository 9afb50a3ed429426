-- Wakes the workers because a row is due: the first argument is the machine's name. A second one is the column with the row's
-- owner, which is added to it.
CREATE OR REPLACE FUNCTION row_is_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM notify_after_commit('row_due', CASE TG_NARGS WHEN 1 THEN TG_ARGV[0]
    ELSE TG_ARGV[0] || ':' || (to_jsonb(NEW) ->> TG_ARGV[1]) END);
  RETURN NULL;
END $$;
