/** What uses a contact: the names that have it, those that can be restored with it, and the orders that will send it. */

/** SQL: whether a name has the contact. @param known SQL: a row of `registry_contacts` @param now SQL: the present time */
export const isOfName = (known: string, now: string) =>
  `is_contact_of_name(${known}.registry_id, ${known}.contact_id, ${now})`;

/** SQL: whether an order that has not ended names the data. @param registry SQL: a condition on the orders' registry */
export const isOfOrder = (resellerId: string, digest: string, registry = "true") => `
  EXISTS (SELECT FROM orders AS live, jsonb_each_text(
      CASE live.kind WHEN 'create' THEN live.input -> 'contacts' WHEN 'contacts' THEN live.input END) AS given
    WHERE live.reseller_id = ${resellerId} AND live.ended_at IS NULL AND live.kind IN ('create', 'contacts') AND ${registry}
      AND given.value = ${digest})`;
