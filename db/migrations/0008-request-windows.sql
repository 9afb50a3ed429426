-- expand
-- What several apis count together (src/front/request-windows.ts, src/front/failure-counts.ts). A window is a minute of the database's
-- clock, by its number since 1970. Unlogged, because a commit of these rows must wait for no disk and no replica: after a crash or a
-- failover, counts begin at zero. No foreign keys, because their locks are logged.

CREATE UNLOGGED TABLE request_windows (
  window_number bigint NOT NULL,
  reseller_id bigint NOT NULL,
  usage integer NOT NULL,
  -- What the last statement has added.
  granted integer NOT NULL,
  CONSTRAINT request_windows_pkey PRIMARY KEY (window_number, reseller_id)
);

-- Failed authentications of a source, or of a key there when the source's budget is used up.
CREATE UNLOGGED TABLE failure_counts (
  window_number bigint NOT NULL,
  source text NOT NULL,
  failures integer NOT NULL,
  CONSTRAINT failure_counts_pkey PRIMARY KEY (window_number, source)
);
