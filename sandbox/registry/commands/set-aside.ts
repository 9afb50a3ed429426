import { contactUri, hostUri } from "../namespaces.ts";
import type { ScheduledAction } from "../objects.ts";
import { changeOf, type Pendable } from "../pending.ts";
import type { CommandContext, CommandHandler, Outcome } from "../registry.ts";
import type { Table } from "../store.ts";
import { childToken } from "../xml.ts";
import { scheduledAction } from "./scheduled-action.ts";

/**
 * Executes a command that stays pending: 1001, and what it changes in the object's row is kept until the decision (RFC 5731
 * §3.3). A create, or the answer to a transfer, of a name stays pending by itself.
 */
export function setAside(context: CommandContext, handler: CommandHandler): Outcome {
  const { element, registry } = context;
  const { hosts, contacts, domains } = registry.store;
  const run = () => handler(context);
  const scheduled = scheduledAction(context)!;
  const { uri, local } = element;
  if (uri === contactUri) return setRowAside(contacts, childToken(element, "id"), run, scheduled as never, local);
  const name = childToken(element, "name").toLowerCase();
  if (uri === hostUri) return setRowAside(hosts, name, run, scheduled as never, local);
  return setRowAside(domains, name, run, scheduled, local);
}

function setRowAside<Row extends Pendable<Row>>(
  table: Table<Row>,
  key: string,
  run: () => Outcome,
  scheduled: ScheduledAction<Row>,
  local: string,
): Outcome {
  const before = table.find(key);
  const outcome = run();
  const after = table.find(key);
  // A new name of a host changes other objects too, so it is done at once.
  if (before && !after && local !== "delete") return outcome;
  const kept = before ?? after!;
  const pending = (status: string, what: Partial<ScheduledAction<Row>>): void =>
    table.put({ ...kept, statuses: withStatus(kept, status), scheduled: { ...scheduled, ...what } });
  if (!before) pending("pendingCreate", {});
  else if (after) pending(local === "renew" ? "pendingRenew" : "pendingUpdate", { change: changeOf(before, after) });
  else pending("pendingDelete", { removes: true });
  return { code: 1001, resData: before ? undefined : outcome.resData };
}

/** A name in redemption gets no other pending status, because they do not mix (RFC 5731 §2.3). */
function withStatus({ statuses }: { statuses: string[] }, status: string): string[] {
  return statuses.includes("pendingDelete") ? statuses : [...statuses, status];
}
