-- The serial that follows: the time in unix seconds where that is later by RFC 1982, else one more.
CREATE OR REPLACE FUNCTION zone_serial_after(serial bigint, at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN serial IS NULL OR (now_is - serial + 4294967296) % 4294967296 BETWEEN 1 AND 2147483647 THEN now_is
    ELSE (serial + 1) % 4294967296 END
  FROM (SELECT floor(extract(epoch FROM at))::bigint % 4294967296) AS seconds (now_is)
$$;
