-- Which names use a host: src/domains/managing/paid/delete-hosts.ts.
CREATE INDEX domains_delegation ON domains USING gin (delegation jsonb_path_ops);
