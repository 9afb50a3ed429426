-- The data of the event of an order that has ended.
CREATE OR REPLACE FUNCTION order_event(code text, kind text, name text, status text, reason text) RETURNS jsonb LANGUAGE sql IMMUTABLE
  RETURN jsonb_build_object('order_code', code, 'kind', kind, 'domain_name', name, 'status', status)
    || CASE WHEN status = 'Finished' THEN '{}' ELSE jsonb_build_object(
      'error_code', CASE status WHEN 'Errors' THEN 'order_failed' WHEN 'Cancelled' THEN 'order_cancelled' ELSE 'order_refused' END,
      'error_text', coalesce(reason, 'It ended without a reason.')) END;
