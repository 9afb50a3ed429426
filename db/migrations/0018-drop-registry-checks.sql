-- Questions about names are notifications since 0016, and no process since then names this table. An api from before can be up
-- beside this: its questions here have been read by nobody since the owner is a newer process, so it could register nothing;
-- instead of saying that it does not know whether a name is free, it answers 500 until it is restarted.
DROP TABLE registry_checks;
