-- Every api process caches keys together with their reseller's settings; this notifies them of a change.
CREATE OR REPLACE FUNCTION notify_api_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('api_key_changed', OLD.id::text);
  RETURN NULL;
END $$;
