-- Contact objects that nothing uses are deleted at their registry. A row is looked at when `look_at` has come (null: at once).
-- While it has `delete_cl_trid`, a delete may be on its way: no order may use the object. `delete_epoch` is the owner that began it.
ALTER TABLE registry_contacts
  ADD COLUMN look_at timestamptz,
  ADD COLUMN unused_since timestamptz,
  ADD COLUMN delete_cl_trid text,
  ADD COLUMN delete_epoch bigint,
  ADD CHECK ((delete_cl_trid IS NULL) = (delete_epoch IS NULL));
CREATE INDEX registry_contacts_look ON registry_contacts (registry_id, look_at NULLS FIRST);

-- Where a contact has one role only, equal data is an object for each role; '' is any role.
ALTER TABLE registry_contacts ADD COLUMN role text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX registry_contacts_data_and_role ON registry_contacts (registry_id, reseller_id, data_digest, role);
DROP INDEX registry_contacts_data;
ALTER INDEX registry_contacts_data_and_role RENAME TO registry_contacts_data;

-- What is known of people is erased some time after the last name that used it left.
ALTER TABLE contacts ADD COLUMN look_at timestamptz, ADD COLUMN unused_since timestamptz;
CREATE INDEX contacts_look ON contacts (look_at NULLS FIRST);

-- Whether a name uses a contact. The registry still counts the contacts of a name that can be restored.
ALTER TABLE domains_ended ADD COLUMN handles jsonb;
CREATE INDEX domains_handles ON domains USING gin (handles jsonb_path_ops);
CREATE INDEX domains_ended_handles ON domains_ended USING gin (handles jsonb_path_ops) WHERE restorable_until IS NOT NULL;
