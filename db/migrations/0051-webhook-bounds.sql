-- What a webhook can store has bounds: src/webhooks/kept.ts. Webhooks that exist are looked at in their next step.
ALTER TABLE webhooks
  -- Deliveries since the last look at how many are kept.
  ADD COLUMN unchecked integer NOT NULL DEFAULT 1000000,
  -- After a failure nothing is sent before this time, unless a person asks.
  ADD COLUMN paused_until timestamptz;
ALTER TABLE webhooks ALTER COLUMN unchecked SET DEFAULT 0;

-- Answers are kept for failures, the last of a webhook.
CREATE INDEX webhook_deliveries_answers ON webhook_deliveries (webhook_id, attempted_at, id) WHERE answer_text IS NOT NULL;
CREATE INDEX webhook_deliveries_tests ON webhook_deliveries (webhook_id, id) WHERE type = 'webhook.test';
