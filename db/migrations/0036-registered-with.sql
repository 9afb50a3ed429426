-- What a registration asks for besides the name.
ALTER TABLE registration_orders ADD COLUMN will_renew boolean NOT NULL DEFAULT true;
-- The name servers that the create contains.
ALTER TABLE registration_orders ADD COLUMN name_servers jsonb NOT NULL DEFAULT '[]';
-- All name servers, if some of them can only be made once the name is registered, and the code of the order that adds them.
ALTER TABLE registration_orders ADD COLUMN later_name_servers jsonb;
ALTER TABLE registration_orders ADD COLUMN later_order_code text UNIQUE;
ALTER TABLE registration_orders ADD CHECK ((later_name_servers IS NULL) = (later_order_code IS NULL));
