/** What uses a contact: the names that have it, those that can be restored with it, and the orders that will send it. */

/** SQL: whether a name has the contact. @param known SQL: a row of `registry_contacts` @param now SQL: the present time */
export const isOfName = (known: string, now: string) =>
  `is_contact_of_name(${known}.registry_id, ${known}.contact_id, ${now})`;

/** SQL: whether an order that has not ended names the data. @param registry SQL: a condition on the orders' registry */
export const isOfOrder = (resellerId: string, digest: string, registry = "true") => `(
  EXISTS (SELECT FROM registration_orders AS live, jsonb_each_text(live.contacts) AS given
    WHERE live.reseller_id = ${resellerId} AND live.ended_at IS NULL AND ${registry} AND given.value = ${digest})
  OR EXISTS (SELECT FROM changes AS live, jsonb_each_text(live.input) AS given
    WHERE live.reseller_id = ${resellerId} AND live.ended_at IS NULL AND live.kind = 'contacts' AND ${registry}
      AND given.value = ${digest}))`;
