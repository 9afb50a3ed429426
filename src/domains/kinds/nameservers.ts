/** The kind `nameservers`: the hosts that a name delegates to, and the addresses of those below it (RFC 5731 §1.1). */
import Type from "typebox";
import { statement } from "#db/statement.ts";
import { type Glue, nextHostStep } from "#domains/name-servers/host-objects.ts";
import { refuseSigned } from "#domains/name-servers/unsigned.ts";
import {
  checkAddresses,
  isBelow,
  nameServersField,
  ownSuperordinates,
  parseNameServers,
  superordinateOf,
  type WantedHost,
} from "#domains/name-servers/wanted.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import { placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import { withGlue } from "#domains/portfolio/rows.ts";
import type { Ask } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { invalidField } from "#errors.ts";
import { canonicalAddress } from "#lib/net/plain-address.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { NameServer } from "#registry/epp/commands/domain/name-servers.ts";
import { type DomainParts, domainUpdate } from "#registry/epp/commands/domain/update.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { parseBody } from "#use-case/body.ts";
import type { Answer, UseCase } from "#use-case/use-case.ts";

const requestBody = Type.Object(
  { name_servers: nameServersField },
  {
    examples: [
      { name_servers: [{ name: "ns1.hello.example", addresses: ["192.0.2.1", "2001:db8::1"] }, "ns2.dns-host.net"] },
    ],
  },
);

// `found` of an order names the host of its last command about a host.
const hostInDoubt = statement(
  "change-host-in-doubt",
  `SELECT order_code FROM orders AS other
   WHERE registry_id = $registry_id AND ended_at IS NULL AND id <> $id AND found ->> 'host' = $host
     AND EXISTS (SELECT FROM attempts
       WHERE attempts.order_id = other.id AND answered_at IS NULL AND command LIKE 'host:%') LIMIT 1`,
  { order_code: "text" },
);

// The name above a host shows its addresses; so does no other name.
const takeGlue = statement(
  "domain-take-glue",
  `UPDATE domains SET delegation = (
     SELECT jsonb_agg(CASE WHEN server ->> 'name' = $host THEN server || jsonb_build_object('addresses', $addresses::jsonb)
       ELSE server END ORDER BY place)
     FROM jsonb_array_elements(delegation) WITH ORDINALITY AS shown_server(server, place))
   WHERE domain_name = $name AND delegation @> jsonb_build_array(jsonb_build_object('name', $host::text))
     AND NOT delegation @> jsonb_build_array(jsonb_build_object('name', $host::text, 'addresses', $addresses::jsonb))`,
  {},
);

export const nameserversKind: OrderKind = {
  name: "nameservers",
  isUrgent: false,
  pendingStatus: "pendingUpdate",

  plan: whileHeld((sessions, order, info, ask) => {
    const { name_servers: wanted } = order.input as { name_servers: WantedHost[] };
    if (sessions.profile.hostModel === "attributes") return planAttributes(order, info, wanted);
    return planObjects(sessions, order, info, { wanted, ask });
  }),
};

/** Hosts are made ready one after the other; then the name delegates to them. */
async function planObjects(
  sessions: RegistrySessions,
  order: Order,
  info: DomainInfo,
  { wanted, ask }: { wanted: readonly WantedHost[]; ask: Ask },
): Promise<Plan> {
  const { context, profile: registry } = sessions;
  const { domain_name: domainName, reseller_id: resellerId } = order;
  const present = info.nameServers?.hosts ?? [];
  const delegated = new Set(present.map(({ name }) => name.toLowerCase()));
  // A name above a host may have left since it was ordered.
  const own = await ownSuperordinates(context.database, { resellerId, domainName, registry }, wanted);
  const { attempts } = order;
  const step = await nextHostStep(ask, { domainName, registry, hosts: wanted, delegated, own, attempts });
  // However the order ends: what a command has changed is shown.
  await showGlue(sessions, order, step.glue);
  if (step.is === "send") {
    const { host, command } = step;
    const [other] = await context.database.query(hostInDoubt, { id: order.id, registry_id: registry.id, host });
    if (!other) return { is: "send", command, found: { host } };
    return { is: "unknown", reason: `a command of ${other.order_code} about ${host} may still be executed` };
  }
  if (step.is !== "ready") return step;
  return planUpdate(order.domain_name, "objects", {
    added: wanted.filter(({ name }) => !delegated.has(name)).map(({ name }) => ({ name, addresses: [] })),
    removed: present.filter(({ name }) => wanted.every((host) => host.name !== name.toLowerCase())),
  });
}

/** The name above a host shows its addresses. */
async function showGlue({ context, profile }: RegistrySessions, order: Order, glue: Glue): Promise<void> {
  for (const [host, addresses] of glue) {
    const above = superordinateOf(host, profile);
    if (above !== undefined && above !== order.domain_name) {
      await context.database.query(takeGlue, { name: above, host, addresses: JSON.stringify(addresses) });
    }
  }
  if (order.shown) order.shown = withGlue(order.shown, order.domain_name, glue);
}

function planAttributes({ domain_name: domainName }: Order, info: DomainInfo, wanted: WantedHost[]): Plan {
  const present = new Map(info.nameServers?.hosts.map((host) => [host.name.toLowerCase(), host]));
  const servers = wanted.map(({ name, addresses }) => {
    return { name, addresses: addresses ?? present.get(name)?.addresses.map(canonicalAddress) ?? [] };
  });
  const bare = servers.find(({ name, addresses }) => addresses.length === 0 && isBelow(name, domainName));
  if (bare) return { is: "refused", as: "rejected", reason: `the host ${bare.name} has no addresses yet: give them` };
  const isShown = ({ name, addresses }: NameServer) => {
    const shown = present.get(name)?.addresses.map(canonicalAddress);
    return shown?.length === addresses.length && addresses.every((address) => shown.includes(address));
  };
  return planUpdate(domainName, "attributes", {
    added: servers.filter((server) => !isShown(server)),
    // A host is removed by its name, also to give it other addresses.
    removed: [...present.keys()]
      .filter((name) => !servers.some((server) => server.name === name && isShown(server)))
      .map((name) => ({ name, addresses: [] })),
  });
}

function planUpdate(
  name: string,
  hostModel: RegistryProfile["hostModel"],
  { added, removed }: { added: readonly NameServer[]; removed: readonly NameServer[] },
): Plan {
  if (added.length === 0 && removed.length === 0) return { is: "done" };
  const parts = (hosts: readonly NameServer[]): DomainParts => ({ nameServers: { hostModel, hosts } });
  const command = domainUpdate({
    name,
    ...(added.length > 0 && { add: parts(added) }),
    ...(removed.length > 0 && { remove: parts(removed) }),
  });
  return { is: "send", command };
}

/** Orders name servers. @param answer in place of the 202, for clients that know no orders */
export const nameServersSetter = (answer?: Answer): UseCase => ({
  errors: [...placeErrors, "domain_has_ds"],
  scope: "domains:update",
  docs: {
    operation: "setNameServers",
    summary: "Orders the name servers of a name.",
    description:
      "The list replaces the one that is there. Without addresses, a host keeps those that it has. A name with DS records cannot be delegated to our name servers.",
    body: requestBody,
    answers: answer ? { [answer.status]: { description: "The change is ordered." } } : placeAnswers,
  },

  handle(context, request) {
    const wanted = parseNameServers(parseBody(requestBody, request.rawBody).name_servers);
    return placeChange(context, request, {
      kind: nameserversKind,
      prefix: "CHG",
      input: { name_servers: wanted },
      ...(answer && { answer }),
      async check(tx, { domain_name: domainName, registry_id: id }) {
        const registry = context.registries.find((profile) => profile.id === id);
        if (!registry) throw invalidField("domain_name", "The registry of this name is not served at the moment.");
        await checkAddresses(tx, { resellerId: request.caller.resellerId, domainName, registry }, wanted);
        await refuseSigned(context, tx, domainName, wanted);
      },
    });
  },
});

/** PUT /domains/<domain_name>/nameservers */
export const setNameServers = nameServersSetter();
