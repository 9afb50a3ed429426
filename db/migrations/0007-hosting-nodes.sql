-- Hosting nodes are rows, so that one can be added, drained or taken away while everything runs.

CREATE TABLE hosting_nodes (
  id text PRIMARY KEY CHECK (id ~ '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'),
  kind text NOT NULL CHECK (kind IN ('embedded', 'proftpd-nginx', 'cpanel')),
  -- Where customers find it.
  ftp_host text NOT NULL,
  ftp_port integer NOT NULL CHECK (ftp_port BETWEEN 1 AND 65535),
  web_host text NOT NULL,
  web_port integer NOT NULL CHECK (web_port BETWEEN 1 AND 65535),
  web_is_https boolean NOT NULL DEFAULT false,
  -- What its driver must know to reach it: JSON, sealed.
  settings_sealed bytea,
  capacity_bytes bigint NOT NULL CHECK (capacity_bytes >= 0),
  accounts_max integer NOT NULL CHECK (accounts_max >= 0),
  -- Of the accounts that are placed on it, kept by the transactions that place and remove them.
  committed_bytes bigint NOT NULL DEFAULT 0 CHECK (committed_bytes >= 0),
  accounts_count integer NOT NULL DEFAULT 0 CHECK (accounts_count >= 0),
  tags text[] NOT NULL DEFAULT '{}',
  is_draining boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE FUNCTION notify_hosting_node_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('hosting_node_changed', coalesce(NEW.id, OLD.id));
  RETURN NULL;
END
$$;

-- Not for what placing changes.
CREATE TRIGGER hosting_node_changed
  AFTER INSERT OR DELETE OR UPDATE OF id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed, is_draining
  ON hosting_nodes FOR EACH ROW EXECUTE FUNCTION notify_hosting_node_changed();
