-- Who creates an account locks its identifier alone, and the names above it together with others, until the end of the transaction:
-- so of two who create accounts one above the other, the second sees the first one's. From the top down, so that they cannot wait for
-- each other.
CREATE OR REPLACE FUNCTION hold_identifier(identifier text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT above FROM unnest(names_at_and_above(identifier)) AS above ORDER BY length(above) LOOP
    IF name = identifier THEN
      PERFORM pg_advisory_xact_lock(hashtext('hosting identifiers'), hashtext(name));
    ELSE
      PERFORM pg_advisory_xact_lock_shared(hashtext('hosting identifiers'), hashtext(name));
    END IF;
  END LOOP;
END $$;
