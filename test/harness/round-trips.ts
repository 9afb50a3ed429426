/** How many round trips to the database a request of each kind takes, in an api process behind a proxy that counts them. */

import { giveNames } from "../renewals/stage.ts";
import { startApiProcess } from "./api-process.ts";
import { ada } from "./contacts.ts";
import type { Scope } from "./database.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { startTestGateway } from "./gateway.ts";
import { sendSigned } from "./signed-request.ts";

const repeatsCount = 5;
/** Longer than a busy machine takes between two parts of what the api sends together. */
const gatherMs = 40;
const dayMs = 24 * 60 * 60_000;

interface Kind {
  about: string;
  method: string;
  /** The request of each repeat. */
  target(repeat: number): string;
  body?(repeat: number): object;
  headers?(repeat: number): Record<string, string>;
}

const kinds: readonly Kind[] = [
  { about: "GET /domains/<name>, signed", method: "GET", target: () => "/domains/read.example" },
  { about: "GET /account", method: "GET", target: () => "/account" },
  {
    about: "POST /domains/registrations",
    method: "POST",
    target: () => "/domains/registrations",
    body: (repeat) => ({ domain_name: `plain-${repeat}.example` }),
  },
  {
    about: "POST /domains/registrations with contacts",
    method: "POST",
    target: () => "/domains/registrations",
    body: (repeat) => ({ domain_name: `contacts-${repeat}.example`, registrant: ada }),
  },
  {
    about: "POST /domains/registrations with an Idempotency-Key",
    method: "POST",
    target: () => "/domains/registrations",
    body: (repeat) => ({ domain_name: `key-${repeat}.example` }),
    headers: (repeat) => ({ "idempotency-key": `key-${repeat}` }),
  },
  {
    about: "PUT /domains/<name>/transfer-lock, an order",
    method: "PUT",
    target: (repeat) => `/domains/lock-${repeat}.example/transfer-lock`,
    body: () => ({ transfer_locked: true }),
  },
  {
    about: "DELETE /domains/<name>, an order",
    method: "DELETE",
    target: (repeat) => `/domains/delete-${repeat}.example?confirm=delete-${repeat}.example`,
  },
  {
    about: "POST /hostingaccounts",
    method: "POST",
    target: () => "/hostingaccounts",
    body: (repeat) => ({
      servicepack_id: "PACK",
      identifier: `site-${repeat}.example`,
      password: "three blind mice 7",
    }),
  },
];

/** @returns for each kind the fewest of several repeats: what the process does beside them may add to some */
export async function countRoundTrips(scope: Scope): Promise<Map<string, number>> {
  const gateway = await startTestGateway(scope);
  const proxy = await startDatabaseProxy(gateway.databaseUrl, { gatherMs });
  const api = await startApiProcess(scope, gateway, proxy.url);
  scope.after(() => proxy.close());
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  const { clock } = gateway.context;
  const expirationDate = new Date(clock.now().getTime() + 200 * dayMs);
  const repeats = Array.from({ length: repeatsCount + 1 }, (_, repeat) => repeat);
  const names = repeats.flatMap((repeat) => [`lock-${repeat}.example`, `delete-${repeat}.example`]);
  await giveNames(gateway, reseller, new Map(["read.example", ...names].map((name) => [name, { expirationDate }])));
  const counts = new Map<string, number>();
  for (const { about, method, target, body, headers } of kinds) {
    const taken: number[] = [];
    for (const repeat of repeats) {
      const sent = body && JSON.stringify(body(repeat)).replace("PACK", pack);
      const call = { url: api.url, key: reseller.key, clock, method, target: target(repeat) };
      proxy.takeRoundTrips();
      const { status, text } = await sendSigned({
        ...call,
        ...(sent && { body: sent }),
        ...(headers && { headers: headers(repeat) }),
      });
      if (status >= 300) throw new Error(`${about}: ${status} ${text}`);
      taken.push(proxy.takeRoundTrips());
    }
    // The first one opens connections.
    counts.set(about, Math.min(...taken.slice(1)));
  }
  return counts;
}
