-- The renewals' sweep reads on from the last name that it has handled: many names may end at one time.
CREATE INDEX domains_unscheduled ON domains (registry_id, expiration_date, domain_name) WHERE renewal_id IS NULL;
DROP INDEX domains_without_renewal;
