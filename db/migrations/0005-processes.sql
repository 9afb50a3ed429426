-- expand
-- Which process runs which release. Each api and worker refreshes its row; a contract waits until no older release is left.
CREATE TABLE processes (
  host text NOT NULL,
  role text NOT NULL,
  pid integer NOT NULL,
  release text NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (host, role, pid)
) WITH (fillfactor = 50);
