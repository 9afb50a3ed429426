-- The nonce of a committed write is used for every other request too. Without a part for its second, nonces are in a journal.
CREATE OR REPLACE FUNCTION use_nonce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO used_nonces (digest, part, signed_at)
  SELECT substring(sha256(convert_to(NEW.key_id || ':' || NEW.nonce, 'UTF8')) FROM 1 FOR 16), part, NEW.signed_at
  FROM nonce_parts WHERE part = (NEW.signed_at / 900) % 8 AND range = NEW.signed_at / 900;
  RETURN NULL;
END $$;
