-- Orders that cost or destroy. A name that left comes back with the setting that it had.
ALTER TABLE domains_ended ADD COLUMN will_renew boolean NOT NULL DEFAULT true;
-- A name can be deleted years before its next renewal, and be restored for some time.
ALTER TABLE domains_ended
  ALTER COLUMN renewal_id DROP NOT NULL,
  ADD COLUMN IF NOT EXISTS gaining_registrar text,
  ADD COLUMN IF NOT EXISTS restorable_until timestamptz;

-- Until accounts have balances: how many orders that cost money an account may place in a UTC day. A row has the count of one
-- day, its latest, so the table has one row for each account.
ALTER TABLE resellers ADD COLUMN paid_orders_day_max integer NOT NULL DEFAULT 1000 CHECK (paid_orders_day_max >= 0);
CREATE TABLE paid_orders (
  reseller_id bigint PRIMARY KEY REFERENCES resellers (id),
  day date NOT NULL,
  placed integer NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE domain_history DROP CONSTRAINT domain_history_event_check;
ALTER TABLE domain_history ADD CHECK (event IN ('will-renew-on', 'will-renew-off', 'renewed', 'ended', 'restored'));
