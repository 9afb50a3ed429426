/** What uses a contact: the names that have it, those that can be restored with it, and the orders that will send it. */

/** SQL: whether a name has the contact. @param known SQL: a row of `registry_contacts` @param now SQL: the present time */
export const isOfName = (known: string, now: string) => `(
  EXISTS (SELECT FROM domains WHERE domains.registry_id = ${known}.registry_id AND ${hasHandle("domains", known)})
  OR EXISTS (SELECT FROM domains_ended AS departure
    WHERE departure.registry_id = ${known}.registry_id AND departure.restorable_until > ${now} AND ${hasHandle("departure", known)}))`;

const hasHandle = (name: string, known: string) => `(
  ${name}.handles @> jsonb_build_object('registrant', ${known}.contact_id)
  OR ${name}.handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', ${known}.contact_id))))`;

/** SQL: whether an order that has not ended names the data. @param registry SQL: a condition on the orders' registry */
export const isOfOrder = (resellerId: string, digest: string, registry = "true") => `(
  EXISTS (SELECT FROM registration_orders AS live, jsonb_each_text(live.contacts) AS given
    WHERE live.reseller_id = ${resellerId} AND live.ended_at IS NULL AND ${registry} AND given.value = ${digest})
  OR EXISTS (SELECT FROM changes AS live, jsonb_each_text(live.input) AS given
    WHERE live.reseller_id = ${resellerId} AND live.ended_at IS NULL AND live.kind = 'contacts' AND ${registry}
      AND given.value = ${digest}))`;
