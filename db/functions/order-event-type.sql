-- Of an order that has ended.
CREATE OR REPLACE FUNCTION order_event_type(status text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE status WHEN 'Finished' THEN 'order.finished' WHEN 'Cancelled' THEN 'order.cancelled' ELSE 'order.failed' END;
