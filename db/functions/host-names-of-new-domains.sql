-- For new domain names, several at a time.
CREATE OR REPLACE FUNCTION host_names_of_new_domains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM host_names_follow(array_agg(domain_name), array_agg(reseller_id)) FROM new_rows;
  RETURN NULL;
END $$;
