-- Orders that only set a value: resellers take turns.
CREATE INDEX changes_turn ON changes (registry_id, reseller_id, next_step_at) WHERE ended_at IS NULL AND NOT is_urgent;
