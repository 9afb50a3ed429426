-- What makes any page cost what the first one costs, and the total exact without counting.
--
-- Each reseller's list is cut into chunks of neighbouring names, and each chunk knows how many rows it holds. The row
-- at position k is found by adding up chunk counts (some 1,400 small rows for a million names) and then walking at most
-- one chunk, instead of k rows. Triggers keep the counts in the transaction that changes the list; whoever changes a
-- chunk holds its row lock until the end of the transaction, so counts and committed rows never differ.
CREATE TABLE list_chunks (
  list text NOT NULL,
  reseller_id bigint NOT NULL,
  first_name text COLLATE "C" NOT NULL,
  row_count integer NOT NULL CHECK (row_count >= 0),
  PRIMARY KEY (list, reseller_id, first_name)
);

-- The rows that the lists show; the list of hosting accounts has all but the failed ones.
CREATE VIEW listed_names AS
  SELECT 'domains'::text AS list, reseller_id, domain_name AS name FROM domains
  UNION ALL
  SELECT 'hosting'::text AS list, reseller_id, identifier AS name FROM hosting_accounts WHERE status <> 'Failed';

-- Locks the chunk that a name falls into and returns its first name. It is looked for again once the lock is held,
-- because whoever held it before may have split it.
CREATE FUNCTION list_chunk_lock(list_ text, reseller bigint, name_ text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  wanted text;
  held text;
BEGIN
  LOOP
    SELECT first_name INTO wanted FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name <= name_ COLLATE "C"
      ORDER BY first_name DESC LIMIT 1 FOR UPDATE;
    IF wanted IS NULL THEN
      INSERT INTO list_chunks VALUES (list_, reseller, '', 0) ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    SELECT first_name INTO held FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name <= name_ COLLATE "C"
      ORDER BY first_name DESC LIMIT 1;
    IF held = wanted THEN
      RETURN wanted;
    END IF;
  END LOOP;
END $$;

-- Cuts the chunk of a name until no part holds more than 1,000 rows: with 500 to 1,000 rows each, both halves of a
-- page's work (adding up chunks, walking one) stay about equally small up to a million rows.
CREATE FUNCTION list_chunk_split(list_ text, reseller bigint, name_ text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  chunk text := list_chunk_lock(list_, reseller, name_);
  held integer;
  middle text;
BEGIN
  LOOP
    SELECT row_count INTO held FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name = chunk COLLATE "C";
    EXIT WHEN held <= 1000;
    SELECT name INTO middle FROM listed_names
      WHERE list = list_ AND reseller_id = reseller AND name >= chunk COLLATE "C" ORDER BY name OFFSET 500 LIMIT 1;
    UPDATE list_chunks SET row_count = 500
      WHERE list = list_ AND reseller_id = reseller AND first_name = chunk COLLATE "C";
    INSERT INTO list_chunks VALUES (list_, reseller, middle, held - 500);
    chunk := middle;
  END LOOP;
END $$;

-- Counts a whole list anew: for statements that change very many rows at once. Waits for every other change of a list.
CREATE FUNCTION list_chunks_rebuild(list_ text, reseller bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE list_chunks IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM list_chunks WHERE list = list_ AND reseller_id = reseller;
  INSERT INTO list_chunks
    SELECT list_, reseller, CASE WHEN chunk = 0 THEN '' ELSE min(name) END, count(*)
    FROM (SELECT name, (row_number() OVER (ORDER BY name) - 1) / 700 AS chunk
          FROM listed_names WHERE list = list_ AND reseller_id = reseller) AS numbered
    GROUP BY chunk;
END $$;

-- Arguments: the list, its name column, and the condition under which a row is listed.
CREATE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := format('SELECT reseller_id, %I AS name, 1 AS change FROM new_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  removed text := format('SELECT reseller_id, %I AS name, -1 AS change FROM old_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  changes text := format(
    'SELECT reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed GROUP BY 1, 2 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  changes_count bigint;
  changed record;
  chunk text;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) AS changes', changes) INTO changes_count;
  IF changes_count > 1000 THEN
    FOR changed IN EXECUTE format('SELECT DISTINCT reseller_id FROM (%s) AS changes ORDER BY 1', changes) LOOP
      PERFORM list_chunks_rebuild(TG_ARGV[0], changed.reseller_id);
    END LOOP;
    RETURN NULL;
  END IF;
  -- In the order of names, so that two transactions cannot wait for each other.
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2' LOOP
    chunk := list_chunk_lock(TG_ARGV[0], changed.reseller_id, changed.name);
    UPDATE list_chunks SET row_count = row_count + changed.change
      WHERE list = TG_ARGV[0] AND reseller_id = changed.reseller_id AND first_name = chunk COLLATE "C";
  END LOOP;
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2' LOOP
    CONTINUE WHEN changed.change < 0;
    PERFORM list_chunk_split(TG_ARGV[0], changed.reseller_id, changed.name);
  END LOOP;
  RETURN NULL;
END $$;

CREATE TRIGGER list_inserted AFTER INSERT ON domains REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true');
CREATE TRIGGER list_updated AFTER UPDATE ON domains REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true');
CREATE TRIGGER list_deleted AFTER DELETE ON domains REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true');
CREATE TRIGGER list_inserted AFTER INSERT ON hosting_accounts REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status <> ''Failed''');
CREATE TRIGGER list_updated AFTER UPDATE ON hosting_accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status <> ''Failed''');
CREATE TRIGGER list_deleted AFTER DELETE ON hosting_accounts REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status <> ''Failed''');
