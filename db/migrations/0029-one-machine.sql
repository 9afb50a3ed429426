-- One machine carries orders and renewals (docs/decisions/0010-one-machine-for-changes-at-a-registry.md): their attempts are one table.
ALTER TABLE order_attempts RENAME TO attempts;
ALTER TABLE attempts RENAME CONSTRAINT order_attempts_pkey TO attempts_pkey;
ALTER TABLE attempts RENAME CONSTRAINT order_attempts_order_id_number_key TO attempts_order_id_number_key;
ALTER TABLE attempts RENAME CONSTRAINT order_attempts_order_id_fkey TO attempts_order_id_fkey;
ALTER TABLE attempts ALTER COLUMN order_id DROP NOT NULL;
ALTER TABLE attempts ADD COLUMN renewal_id bigint REFERENCES renewals (id);
INSERT INTO attempts (cl_trid, renewal_id, number, command, committed_at, answered_at, result_code, sv_trid, epoch)
SELECT cl_trid, renewal_id, number, command, committed_at, answered_at, result_code, sv_trid, epoch FROM renewal_attempts;
ALTER TABLE attempts ADD CHECK (num_nonnulls(order_id, renewal_id) = 1);
CREATE UNIQUE INDEX attempts_renewal_id_number_key ON attempts (renewal_id, number) WHERE renewal_id IS NOT NULL;
DROP TABLE renewal_attempts;

-- For processes of the version before, which run beside ours for a while: PostgreSQL lets them write through these.
CREATE VIEW order_attempts AS
SELECT cl_trid, order_id, number, command, committed_at, answered_at, result_code, sv_trid, epoch
FROM attempts WHERE order_id IS NOT NULL;
CREATE VIEW renewal_attempts AS
SELECT cl_trid, renewal_id, number, command, committed_at, answered_at, result_code, sv_trid, epoch
FROM attempts WHERE renewal_id IS NOT NULL;

-- A row says itself when its next step is due. While it lives that is never null: processes of the version before write null for "now".
CREATE FUNCTION live_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.version := OLD.version + 1;
  END IF;
  IF NEW.ended_at IS NULL AND NEW.next_step_at IS NULL THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $$;
ALTER TABLE registration_orders ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE renewals ADD COLUMN version bigint NOT NULL DEFAULT 0;
UPDATE registration_orders SET next_step_at = updated_at WHERE ended_at IS NULL AND next_step_at IS NULL;
CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON registration_orders FOR EACH ROW EXECUTE FUNCTION live_row();
CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON renewals FOR EACH ROW EXECUTE FUNCTION live_row();
CREATE INDEX registration_orders_step ON registration_orders (registry_id, next_step_at) WHERE ended_at IS NULL;
