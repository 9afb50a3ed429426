-- The text that belongs to order_error_code.
CREATE OR REPLACE FUNCTION order_error_text(status text, reason text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN order_error_code(status) IS NOT NULL THEN coalesce(reason, 'It ended without a reason.') END;
