-- Notifies every process that reaches nodes.
CREATE OR REPLACE FUNCTION notify_hosting_node_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('hosting_node_changed', coalesce(NEW.id, OLD.id));
  RETURN NULL;
END
$$;
