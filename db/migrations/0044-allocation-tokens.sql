-- Allocation tokens (RFC 8495) of registrations: sealed, and erased at the order's end by whichever statement ends it.
ALTER TABLE registration_orders ADD COLUMN allocation_token_sealed bytea;

CREATE FUNCTION erase_allocation_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.allocation_token_sealed := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER allocation_token_erased BEFORE INSERT OR UPDATE ON registration_orders FOR EACH ROW
  WHEN (NEW.ended_at IS NOT NULL AND NEW.allocation_token_sealed IS NOT NULL) EXECUTE FUNCTION erase_allocation_token();
