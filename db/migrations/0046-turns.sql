-- Orders that only set a value: resellers take turns. Urgent orders do not wait for them.
CREATE INDEX changes_turn ON changes (registry_id, reseller_id, next_step_at) WHERE ended_at IS NULL AND NOT is_urgent;
CREATE INDEX changes_urgent_step ON changes (registry_id, next_step_at) WHERE ended_at IS NULL AND is_urgent;
