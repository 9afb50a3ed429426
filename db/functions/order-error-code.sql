-- What resellers are told of an order in this status: the API and the events say the same. Null: it has not failed.
CREATE OR REPLACE FUNCTION order_error_code(status text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE status WHEN 'Errors' THEN 'order_failed' WHEN 'FailedValidation' THEN 'order_refused' WHEN 'Cancelled' THEN 'order_cancelled' END;
