-- Auth codes. An order's secret is erased at its end, by whichever statement or release ends it.
ALTER TABLE registration_orders ALTER COLUMN auth_info_sealed DROP NOT NULL;

CREATE FUNCTION erase_secret() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'changes' THEN
    NEW.secret_sealed := NULL;
  ELSE
    NEW.auth_info_sealed := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER secret_erased BEFORE INSERT OR UPDATE ON registration_orders FOR EACH ROW
  WHEN (NEW.ended_at IS NOT NULL AND NEW.auth_info_sealed IS NOT NULL) EXECUTE FUNCTION erase_secret();
CREATE TRIGGER secret_erased BEFORE INSERT OR UPDATE ON changes FOR EACH ROW
  WHEN (NEW.ended_at IS NOT NULL AND NEW.secret_sealed IS NOT NULL) EXECUTE FUNCTION erase_secret();
UPDATE registration_orders SET auth_info_sealed = NULL WHERE ended_at IS NOT NULL;

-- Whether the name is to be locked against transfers once it is registered.
ALTER TABLE registration_orders ADD COLUMN locks_name boolean NOT NULL DEFAULT false;

-- The auth code that the registry has for a name, from the order that set it until it is replaced there.
CREATE TABLE auth_codes (
  domain_name text COLLATE "C" PRIMARY KEY REFERENCES domains (domain_name) ON DELETE CASCADE,
  registry_id text NOT NULL,
  change_code text NOT NULL,
  -- Null once it has expired.
  code_sealed bytea,
  expires_at timestamptz NOT NULL,
  -- When an order to replace it is placed, or placed again.
  replace_at timestamptz NOT NULL
);
CREATE INDEX auth_codes_replace ON auth_codes (registry_id, replace_at);
