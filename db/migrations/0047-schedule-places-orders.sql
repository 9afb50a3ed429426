-- The schedule places orders (docs/decisions/0019-the-schedule-places-orders.md): what it sends to a registry is a row of `changes`,
-- as everything else is. Which term an order is for; null for what somebody asked for.
ALTER TABLE changes ADD COLUMN renewal_id bigint REFERENCES renewals (id);
CREATE INDEX changes_renewal ON changes (renewal_id, id) WHERE renewal_id IS NOT NULL;
CREATE UNIQUE INDEX changes_live_renewal ON changes (renewal_id) WHERE renewal_id IS NOT NULL AND ended_at IS NULL;
-- Thousands of names can be due on one day: what somebody asked for is found beside them.
CREATE INDEX changes_urgent_step ON changes (registry_id, next_step_at)
  WHERE ended_at IS NULL AND is_urgent AND renewal_id IS NULL;
CREATE INDEX changes_step_schedule ON changes (registry_id, next_step_at) WHERE ended_at IS NULL AND renewal_id IS NOT NULL;
-- How long an order of a kind usually takes that somebody waits for.
CREATE INDEX changes_finished_asked ON changes (kind, ended_at DESC) WHERE status = 'Finished' AND renewal_id IS NULL;
