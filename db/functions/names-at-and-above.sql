-- The name itself and every name above it.
CREATE OR REPLACE FUNCTION names_at_and_above(name text) RETURNS text[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg(array_to_string(labels[first:], '.'))
  FROM (SELECT string_to_array(name, '.') AS labels) AS split, generate_subscripts(labels, 1) AS first
$$;
