-- For a domain name that is deleted, or gets another holder.
CREATE OR REPLACE FUNCTION host_names_of_domain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM host_names_follow(ARRAY[OLD.domain_name], ARRAY[NULL::bigint]);
  ELSE
    PERFORM host_names_follow(ARRAY[NEW.domain_name], ARRAY[NEW.reseller_id]);
  END IF;
  RETURN NULL;
END $$;
