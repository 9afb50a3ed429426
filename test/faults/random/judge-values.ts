/** The last order in force: what the registry shows of a name is what the newest finished order of each kind has set. */
import type { Domain } from "../../../sandbox/registry/objects.ts";
import type { Store } from "../../../sandbox/registry/store.ts";
import type { EndedOrder } from "./judge-names.ts";
import { sacrificialSuffix } from "./play.ts";

type Body = Record<string, unknown>;

interface ValueKind {
  /** What an order asks for, by field. */
  wanted(body: Body): Record<string, string>;
  shown(store: Store, domain: Domain): Record<string, string>;
  /** Whether the registry may show a value in place of the wanted one; by default only the same. */
  isRight?(shown: string | undefined, wanted: string): boolean;
}

const listOf = (values: readonly string[]) => values.toSorted().join(" ");

const valueKinds: Readonly<Record<string, ValueKind>> = {
  "transfer-lock": {
    wanted: ({ transfer_locked }) => ({ locked: String(transfer_locked) }),
    shown: (_store, { statuses }) => ({ locked: String(statuses.includes("clientTransferProhibited")) }),
  },
  nameservers: {
    wanted: ({ name_servers }) => ({ hosts: listOf((name_servers as { name: string }[]).map(({ name }) => name)) }),
    shown: (_store, { delegation }) => ({ hosts: listOf((delegation?.servers ?? []).map(({ name }) => name)) }),
    // A host has another name since the name above it was deleted.
    isRight(shown = "", wanted) {
      const [hosts, named] = [shown.split(" "), wanted.split(" ")];
      const kept = hosts.filter((host) => !host.endsWith(`.${sacrificialSuffix}`));
      return hosts.length === named.length && kept.every((host) => named.includes(host));
    },
  },
  dnssec: {
    wanted: ({ ds }) => ({ digests: listOf((ds as { digest: string }[]).map(({ digest }) => digest)) }),
    shown: (_store, { security }) => ({ digests: listOf((security?.dsData ?? []).map(({ digest }) => digest)) }),
  },
  contacts: {
    wanted: (body) =>
      Object.fromEntries(
        Object.entries(body as Record<string, { email: string }>).map(([role, { email }]) => [role, email]),
      ),
    shown: (store, { registrant, contacts }) =>
      Object.fromEntries(
        [{ type: "registrant", id: registrant ?? "" }, ...contacts].map(({ type, id }) => [
          type,
          store.contacts.find(id)?.email ?? "",
        ]),
      ),
  },
};

/**
 * @param orders of one name, in the order in which they were placed
 * @param isThin the registry has no contacts
 * @returns the mistakes, one sentence each
 */
export function judgeValues(store: Store, domain: Domain, orders: readonly EndedOrder[], isThin: boolean): string[] {
  // A delete removes what hosts of the name need, and a restore need not bring it back.
  const left = orders.findLastIndex(({ kind, status }) => kind === "delete" && status === "Finished");
  const present = orders.slice(left + 1);
  return Object.entries(valueKinds).flatMap(([kind, { wanted, shown, isRight = Object.is }]) => {
    const own = present.filter((order) => order.kind === kind && !(isThin && kind === "contacts"));
    const shownNow = shown(store, domain);
    return Object.entries(inForce(own, wanted)).flatMap(([field, { value, code }]) =>
      isRight(shownNow[field], value)
        ? []
        : [
            `${kind}: ${code} is the last order in force, and sets ${field} ${value}; the registry shows ${shownNow[field]}`,
          ],
    );
  });
}

/** An order that was superseded has left its fields to a newer one, which may fail: then no order is known to be in force. */
function inForce(orders: readonly EndedOrder[], wanted: ValueKind["wanted"]) {
  const found: Record<string, { value: string; code: string }> = {};
  for (const { status, body, code } of orders) {
    for (const [field, value] of Object.entries(wanted(body as Body))) {
      if (status === "Finished") found[field] = { value, code };
      else if (status === "Cancelled") delete found[field];
    }
  }
  return found;
}
