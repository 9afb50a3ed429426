-- expand
-- The timeline of the primary on which a lease was taken. A promoted standby has the lease and no advisory lock, so there the free lock
-- does not say that the owner has ended. Null: a process of the release before has taken it.
ALTER TABLE registry_leases ADD COLUMN timeline text;
