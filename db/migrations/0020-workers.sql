-- When each worker was last at work, by the database's clock: api and operator notice when none is.
CREATE TABLE workers (
  -- "process 4711 on host", as its connection of locks is named.
  worker text PRIMARY KEY,
  seen_at timestamptz NOT NULL,
  -- Set by a worker that ends as it should.
  stopped_at timestamptz
);
