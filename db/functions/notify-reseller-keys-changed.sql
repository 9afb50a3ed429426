-- As notify_api_key_changed, for the keys of a reseller whose settings changed.
CREATE OR REPLACE FUNCTION notify_reseller_keys_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('api_key_changed', id) FROM api_keys WHERE reseller_id = NEW.id;
  RETURN NULL;
END $$;
