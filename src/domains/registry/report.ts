/** What an operator sees of the registries. A registry is listed once a process has owned its sessions. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";

type ReportContext = Pick<Context, "database" | "clock">;

const registryRows = statement(
  "operator-registries",
  `SELECT r.id AS registry, ${registryOwnerAlive("r.id")} AS has_owner, lease.holder AS lease_holder,
     lease.epoch AS lease_epoch, lease.since AS lease_since, lease.expires_at AS lease_until,
     CASE WHEN circuit_open_until > $now THEN circuit_open_until END AS circuit_open_until,
     creates_paused_reason, maintenance_from, CASE WHEN maintenance_until > $now THEN maintenance_until END AS maintenance_until,
     (SELECT count(*) FROM orders WHERE orders.registry_id = r.id AND ended_at IS NULL) AS live_orders,
     (SELECT count(*) FROM poll_messages AS message WHERE message.registry_id = r.id
        AND needs_operator AND done_at IS NULL) AS open_messages
   FROM registries AS r LEFT JOIN registry_leases AS lease ON lease.registry_id = r.id
   WHERE $registry_id::text IS NULL OR r.id = $registry_id ORDER BY r.id`,
  {
    registry: "text",
    has_owner: "bool",
    lease_holder: "text?",
    lease_epoch: "int8?",
    lease_since: "timestamptz?",
    lease_until: "timestamptz?",
    circuit_open_until: "timestamptz?",
    creates_paused_reason: "text?",
    maintenance_from: "timestamptz?",
    maintenance_until: "timestamptz?",
    live_orders: "int8",
    open_messages: "int8",
  },
);

const liveOrders = statement(
  "operator-registry-orders",
  `SELECT CASE WHEN phase IS NULL THEN status ELSE status || ' (' || phase || ')' END AS state, count(*) AS orders,
     min(created_at) AS oldest
   FROM orders WHERE registry_id = $registry_id AND ended_at IS NULL
   GROUP BY status, phase ORDER BY 1`,
  { state: "text?", orders: "int8", oldest: "timestamptz?" },
);

type RegistryRow = NonNullable<(typeof registryRows)["row"]>;

export async function listRegistries(context: ReportContext) {
  const rows = await context.database.query(registryRows, { registry_id: null, now: context.clock.now() });
  return rows.map(describe);
}

/** A registry with its live orders by state; `undefined` when there is none. */
export async function reportRegistry(context: ReportContext, registryId: string) {
  const [row] = await context.database.query(registryRows, {
    registry_id: registryId,
    now: context.clock.now(),
  });
  if (!row) return undefined;
  return { ...describe(row), orders: await context.database.query(liveOrders, { registry_id: registryId }) };
}

function describe(row: RegistryRow) {
  const { has_owner, circuit_open_until, creates_paused_reason, maintenance_from, maintenance_until, ...rest } = row;
  const maintenance =
    maintenance_from && maintenance_until && `${maintenance_from.toISOString()} to ${maintenance_until.toISOString()}`;
  return {
    ...rest,
    owner: has_owner ? "alive" : whyNoOwner(row),
    circuit: circuit_open_until ? `open until ${circuit_open_until.toISOString()}` : "closed",
    paused: creates_paused_reason ?? "no",
    maintenance: maintenance ?? "none planned",
  };
}

function whyNoOwner({ lease_holder: holder, lease_until: until }: RegistryRow): string {
  if (!holder || !until) return "none: no worker runs";
  return `none: the lease of ${holder} ended at ${until.toISOString()}, and no worker has taken it`;
}
