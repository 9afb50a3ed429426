-- What kind of message it is, what became of it ('applied', 'told', 'kept'), the name that it is about, and its text.
-- Null: stored by a release that did not know, or there is none.
ALTER TABLE poll_messages
  ADD COLUMN kind text,
  ADD COLUMN outcome text,
  ADD COLUMN domain_name text COLLATE "C",
  ADD COLUMN message_text text;
-- Lists begin at any message, and what is old enough is deleted.
CREATE INDEX poll_messages_received ON poll_messages (received_at, registry_id, message_id);
