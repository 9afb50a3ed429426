-- Of the last probe that an operator asked for: who asked, and what it failed with; null when the circuit is closed.
ALTER TABLE registries ADD COLUMN probe_id text, ADD COLUMN probe_failure text;
