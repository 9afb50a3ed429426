-- Whether some name servers, as the API writes them, are ours: at least one of them.
CREATE OR REPLACE FUNCTION delegation_is_ours(delegation jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM zone_settings AS settings CROSS JOIN LATERAL jsonb_array_elements(delegation) AS server
    WHERE lower(server ->> 'name') = ANY (settings.name_servers))
$$;
