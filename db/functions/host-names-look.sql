-- Makes host names due.
CREATE OR REPLACE FUNCTION host_names_look(ids bigint[]) RETURNS void LANGUAGE sql AS $$
  -- Sorted, so that two transactions cannot wait for each other.
  UPDATE host_names SET next_step_at = now() FROM (
    SELECT id FROM host_names WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE) AS found
  WHERE host_names.id = found.id
$$;
