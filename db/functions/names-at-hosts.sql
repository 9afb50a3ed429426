-- The names that have one of these name servers. Its settings are explained in is-contact-of-name.sql.
CREATE OR REPLACE FUNCTION names_at_hosts(hosts text[]) RETURNS SETOF text LANGUAGE sql STABLE ROWS 100
  SET enable_bitmapscan = on SET enable_indexscan = off SET enable_seqscan = off AS $$
  SELECT domain_name FROM domains WHERE delegation @> ANY (ARRAY(
    SELECT jsonb_build_array(jsonb_build_object('name', host)) FROM unnest(hosts) AS host))
$$;
