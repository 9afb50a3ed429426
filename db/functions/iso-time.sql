-- As the API writes times.
CREATE OR REPLACE FUNCTION iso_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE
  RETURN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
