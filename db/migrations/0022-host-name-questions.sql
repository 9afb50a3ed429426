-- Host names that wait until a worker asks the name servers about them. Name servers that are silent hold a place for seconds,
-- so resellers take turns: whoever has many names waiting delays his own and nobody else's.
CREATE TABLE host_name_questions (
  host_name_id bigint PRIMARY KEY REFERENCES host_names ON DELETE CASCADE,
  reseller_id bigint NOT NULL,
  -- The lowest goes first. Each reseller's next name comes a turn later, and a new one comes into the turn that is under way
  -- (start-time fair queueing).
  turn bigint NOT NULL,
  -- How often it was asked for: what is asked for while it is under way is done once more.
  times integer NOT NULL DEFAULT 1,
  -- Whoever has taken it is expected to be done by then; by the database's clock.
  taken_until timestamptz
);
CREATE INDEX host_name_questions_reseller ON host_name_questions (reseller_id, turn);
