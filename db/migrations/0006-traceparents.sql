-- expand
-- The trace of the request that an order comes from (W3C Trace Context), so that what a worker does hours later belongs to it. Null:
-- nobody traced the request, the schedule has placed the order, or the release before has.
ALTER TABLE orders ADD COLUMN traceparent text;
