-- The data of the event of an order that has ended.
CREATE OR REPLACE FUNCTION order_event(code text, kind text, name text, status text, reason text) RETURNS jsonb LANGUAGE sql IMMUTABLE
  RETURN jsonb_build_object('order_code', code, 'kind', kind, 'domain_name', name, 'status', status)
    || CASE WHEN order_error_code(status) IS NULL THEN '{}'
      ELSE jsonb_build_object('error_code', order_error_code(status), 'error_text', order_error_text(status, reason)) END;
