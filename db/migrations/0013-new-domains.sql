-- Names are registered several at a time, and what follows from that is done once for all of them: in the order pipeline each
-- domain's share of both triggers was some 120 us of PostgreSQL's time, a tenth of all that an order costs it.

-- Counts names into their list's chunks; `names` of each reseller, in order, so that two transactions cannot wait for each
-- other. While a chunk's lock is held nobody can split it, so it reaches to where the next one begins.
CREATE FUNCTION list_count(list_ text, resellers bigint[], names text[], changes integer[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  count integer := cardinality(names);
  place integer := 1;
  reseller bigint;
  chunk text;
  next_chunk text;
  sum integer;
  held integer;
  touched_resellers bigint[] := '{}';
  touched_chunks text[] := '{}';
  touched_sums integer[] := '{}';
BEGIN
  WHILE place <= count LOOP
    reseller := resellers[place];
    chunk := list_chunk_lock(list_, reseller, names[place]);
    SELECT first_name INTO next_chunk FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name > chunk COLLATE "C"
      ORDER BY first_name LIMIT 1;
    sum := 0;
    LOOP
      sum := sum + changes[place];
      place := place + 1;
      EXIT WHEN place > count OR resellers[place] <> reseller OR names[place] >= next_chunk COLLATE "C";
    END LOOP;
    touched_resellers := touched_resellers || reseller;
    touched_chunks := touched_chunks || chunk;
    touched_sums := touched_sums || sum;
  END LOOP;
  FOR place IN 1 .. cardinality(touched_chunks) LOOP
    UPDATE list_chunks SET row_count = row_count + touched_sums[place]
      WHERE list = list_ AND reseller_id = touched_resellers[place] AND first_name = touched_chunks[place] COLLATE "C"
      RETURNING row_count INTO held;
    IF held > 1000 THEN
      PERFORM list_chunk_split(list_, touched_resellers[place], touched_chunks[place]);
    END IF;
  END LOOP;
END $$;

-- More than so many names: the lists of their resellers are counted anew.
CREATE OR REPLACE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := format('SELECT reseller_id, %I AS name, 1 AS change FROM new_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  removed text := format('SELECT reseller_id, %I AS name, -1 AS change FROM old_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  changes text := format(
    'SELECT reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed
     GROUP BY 1, 2 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  resellers bigint[];
  names text[];
  sums integer[];
BEGIN
  EXECUTE format('SELECT array_agg(reseller_id), array_agg(name), array_agg(change)
    FROM (%s ORDER BY 1, 2 LIMIT 1001) AS changes', changes) INTO resellers, names, sums;
  IF cardinality(names) > 1000 THEN
    EXECUTE format('SELECT array_agg(DISTINCT reseller_id) FROM (%s) AS changes', changes) INTO resellers;
    PERFORM list_chunks_rebuild(TG_ARGV[0], reseller) FROM unnest(resellers) AS reseller;
  ELSE
    PERFORM list_count(TG_ARGV[0], resellers, names, sums);
  END IF;
  RETURN NULL;
END $$;

-- The same for new domains, with statements whose plans are kept: what is made of a trigger's arguments is planned each time.
CREATE FUNCTION list_new_domains() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  resellers bigint[];
  names text[];
BEGIN
  SELECT array_agg(reseller_id), array_agg(domain_name) INTO resellers, names
    FROM (SELECT reseller_id, domain_name FROM new_rows ORDER BY 1, 2 LIMIT 1001) AS added;
  IF cardinality(names) > 1000 THEN
    PERFORM list_chunks_rebuild('domains', reseller_id)
      FROM (SELECT DISTINCT reseller_id FROM new_rows ORDER BY 1) AS reseller;
  ELSE
    PERFORM list_count('domains', resellers, names, array_fill(1, ARRAY[coalesce(cardinality(names), 0)]));
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER list_inserted ON domains;
CREATE TRIGGER list_inserted AFTER INSERT ON domains REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_new_domains();

-- What follows from domains that somebody has now, or that nobody has any more (NULL), as 0010 has it for one of them. IS NOT
-- DISTINCT FROM, because = would let PostgreSQL read all accounts of the holder in place of those that are called so.
CREATE FUNCTION host_names_follow(names text[], resellers bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
BEGIN
  INSERT INTO host_names (account_id, host_name, status, created_at)
    SELECT account.id, account.identifier, 'Waiting', now()
    FROM unnest(names, resellers) AS domain(name, reseller_id)
    JOIN hosting_accounts AS account ON account.status NOT IN ('Failed', 'Removed')
      AND reverse(account.identifier) COLLATE "C" >= reverse(domain.name)
      AND reverse(account.identifier) COLLATE "C" < reverse(domain.name) || '/'
    WHERE account.reseller_id IS NOT DISTINCT FROM domain.reseller_id AND (account.identifier = domain.name
      OR reverse(account.identifier) COLLATE "C" > reverse(domain.name) || '.')
    ON CONFLICT DO NOTHING;
  SELECT array_agg(id ORDER BY id) INTO ids FROM (
    SELECT DISTINCT host.id
    FROM unnest(names) AS domain(name)
    JOIN host_names AS host ON reverse(host.host_name) COLLATE "C" >= reverse(domain.name)
      AND reverse(host.host_name) COLLATE "C" < reverse(domain.name) || '/'
    WHERE host.host_name = domain.name OR reverse(host.host_name) COLLATE "C" > reverse(domain.name) || '.') AS found;
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION host_names_of_domain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM host_names_follow(ARRAY[OLD.domain_name], ARRAY[NULL::bigint]);
  ELSE
    PERFORM host_names_follow(ARRAY[NEW.domain_name], ARRAY[NEW.reseller_id]);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION host_names_of_new_domains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM host_names_follow(array_agg(domain_name), array_agg(reseller_id)) FROM new_rows;
  RETURN NULL;
END $$;

DROP TRIGGER host_names_of_domain ON domains;
CREATE TRIGGER host_names_of_domain AFTER DELETE OR UPDATE OF domain_name, reseller_id ON domains
  FOR EACH ROW EXECUTE FUNCTION host_names_of_domain();
CREATE TRIGGER host_names_of_new_domains AFTER INSERT ON domains REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION host_names_of_new_domains();
