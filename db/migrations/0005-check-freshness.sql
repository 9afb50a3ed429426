-- When the registry last said that the name is free: its answer to the request serves the order's first step too.
ALTER TABLE registration_orders ADD COLUMN checked_at timestamptz;
