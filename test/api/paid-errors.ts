/** The errors of the calls that cost money or destroy, with the requests that provoke them. */
import { systemClock } from "#lib/clock.ts";
import type { TestReseller } from "../harness/gateway.ts";
import type { Scenarios } from "./scenario.ts";

interface Place {
  /** Has own.example, with a scheduled renewal. */
  reseller: TestReseller;
  rival: TestReseller;
  query(text: string): Promise<unknown>;
  /** What every order about a registered name refuses. */
  ordering(path: string, body: object, mistakes: [body: object, ...fields: string[]][]): Scenarios[string];
  openOrders(): Promise<unknown>;
}

const dayMs = 24 * 60 * 60_000;

export function paidErrors({ reseller, rival, query, ordering, openOrders }: Place) {
  /** When the term of own.example ends: some days from now, so that ten more years are too many. */
  const ownEnd = new Date(systemClock.now().getTime() + 30 * dayMs).toISOString();
  /** The schedule has ordered the renewal of own.example, and the registry has left it pending. */
  const beginRenewal = () =>
    query(
      `WITH begun AS (UPDATE renewals SET status = 'Processing', phase = 'renew' WHERE domain_name = 'own.example' RETURNING *)
       INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, next_step_at,
         created_at, updated_at, renewal_id)
       SELECT renewal_code, reseller_id, domain_name, registry_id, 'renew', '{"years": 1}', true, 'Pending', 'infinity', now(),
         now(), id FROM begun`,
    );
  const forgetRenewal = () =>
    query(
      `WITH forgotten AS (DELETE FROM orders WHERE renewal_id IS NOT NULL)
       UPDATE renewals SET status = 'Scheduled', phase = NULL, next_step_at = 'infinity' WHERE domain_name = 'own.example'`,
    );
  const limit = (max: number) => query(`UPDATE resellers SET paid_orders_day_max = ${max} WHERE id = ${reseller.id}`);
  const renew = "/domains/own.example/renewals";
  const scenarios: Scenarios = {
    "DELETE /domains/:domain_name": {
      bad_request: ["", "?confirm=", "?confirm=other.example", "?confirm=own.example&confirm=own.example"].map(
        (given) => ({ target: `/domains/own.example${given}`, fields: ["confirm"] }),
      ),
      domain_not_valid: ["/domains/-a.example", "/domains/example"].map((target) => ({ target })),
      domain_not_found: [
        { target: "/domains/nobodys.example?confirm=nobodys.example" },
        { as: rival, target: "/domains/own.example?confirm=own.example" },
      ],
      order_limit_reached: [
        {
          target: "/domains/own.example?confirm=own.example",
          arrange: openOrders,
          tidy: () => query("DELETE FROM orders"),
        },
      ],
    },
    "POST /domains/:domain_name/renewals": {
      ...ordering("renewals", { years: 1, expiration_date: ownEnd }, [
        [{}, "years", "expiration_date"],
        [{ years: 1 }, "expiration_date"],
        [{ years: 0, expiration_date: ownEnd }, "years"],
        [{ years: 10, expiration_date: ownEnd }, "years"],
        [{ years: 1, expiration_date: "soon" }, "expiration_date"],
        [{ years: 1, expiration_date: "2027-13-01" }, "expiration_date"],
      ]),
      domain_expiration_changed: ["2020-01-01", "2020-01-01T00:00:00Z"].map((expiration_date) => {
        return { target: renew, body: { years: 1, expiration_date } };
      }),
      domain_renewal_underway: [
        {
          target: renew,
          body: { years: 2, expiration_date: ownEnd },
          arrange: beginRenewal,
          tidy: forgetRenewal,
        },
      ],
    },
    "POST /domains/:domain_name/restores": {
      domain_not_valid: ["/domains/-a.example/restores", "/domains/example/restores"].map((target) => ({ target })),
      domain_not_found: [
        { target: "/domains/nobodys.example/restores" },
        { as: rival, target: "/domains/own.example/restores" },
        { as: rival, target: "/domains/deleted.example/restores" },
      ],
      domain_not_restorable: [
        { target: "/domains/own.example/restores", says: /in your portfolio/ },
        { target: "/domains/expired.example/restores" },
      ],
      domain_renewal_underway: [
        {
          target: "/domains/deleted.example/restores",
          arrange: () =>
            query(
              `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, created_at,
                 updated_at)
               VALUES ('REN-WAITS000-000', ${reseller.id}, 'deleted.example', 'none', 'renew', '{"years": 1}', true,
                 'NotProvisioned', now(), now())`,
            ),
          tidy: () => query("DELETE FROM orders"),
          says: /not decided yet/,
        },
      ],
      order_limit_reached: [
        { target: "/domains/deleted.example/restores", arrange: () => limit(0), tidy: () => limit(100_000) },
      ],
    },
  };
  const prepare = () =>
    query(
      `INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date,
         registry_ex_date, ended_at, reason, restorable_until)
       SELECT name, ${reseller.id}, 'sandbox', now(), now(), now(), now(), 'deleted', now() + days * interval '1 day'
       FROM (VALUES ('deleted.example', 1), ('expired.example', 0)) AS departed (name, days)`,
    );
  return { scenarios, ownEnd, limit, prepare, beginRenewal, forgetRenewal };
}
