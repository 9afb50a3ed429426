-- Registries exist that choose the ids of contacts: the id that one answers is stored with a digest of the data that it stands for.
-- Rows of the version before have neither digest nor reseller: their ids are digests.
ALTER TABLE registry_contacts ADD COLUMN reseller_id bigint REFERENCES resellers (id);
ALTER TABLE registry_contacts ADD COLUMN data_digest text;
CREATE UNIQUE INDEX registry_contacts_data ON registry_contacts (registry_id, reseller_id, data_digest);

-- A contact whose answer was lost has an id that nobody knows, if the registry chose it.
ALTER TABLE attempts ADD COLUMN abandoned_at timestamptz;
CREATE INDEX attempts_abandoned ON attempts (abandoned_at) WHERE abandoned_at IS NOT NULL;

-- A create may be answered with success and without the dates of the name, which `<info>` shows later (RFC 5731 section 3.2.1).
ALTER TABLE registration_orders DROP CONSTRAINT registration_orders_verify_cause_check;
ALTER TABLE registration_orders ADD CHECK (verify_cause IN ('lost', 'exists', 'created'));

-- Where `<info>` shows no exDate, nobody but an operator can find out whether a renew was executed whose answer was lost.
ALTER TABLE renewals DROP CONSTRAINT renewals_verify_cause_check;
ALTER TABLE renewals ADD CHECK (verify_cause IN ('answered', 'lost', 'unseen'));
