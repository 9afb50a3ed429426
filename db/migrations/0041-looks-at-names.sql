-- Operators' processes have no session at a registry: they ask its owner, which answers in the question's row.
CREATE TABLE name_questions (
  id text PRIMARY KEY,
  -- Null: the registry that serves the name's suffix.
  registry_id text,
  domain_name text COLLATE "C" NOT NULL,
  -- Whether the domain's row takes over what the registry shows.
  takes_over boolean NOT NULL,
  -- One of many: it waits for idle sessions.
  is_paced boolean NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT now(),
  answer jsonb
);
CREATE INDEX name_questions_open ON name_questions (asked_at) WHERE answer IS NULL;

-- When the row was last compared with the registry. A new name's row is what the registry has just shown.
ALTER TABLE domains ADD COLUMN looked_at timestamptz;
ALTER TABLE domains ALTER COLUMN looked_at SET DEFAULT now();
CREATE INDEX domains_looked_at ON domains (registry_id, looked_at NULLS FIRST);
CREATE INDEX domains_transfer ON domains (domain_name) WHERE transfer IS NOT NULL;
CREATE INDEX changes_ended ON changes (registry_id, ended_at) WHERE ended_at IS NOT NULL;

-- The events are a list in the code, which grows with each release.
ALTER TABLE domain_history DROP CONSTRAINT domain_history_event_check;
