/**
 * The events that resellers read: their types, the scope that a key needs to read them, and their data. Triggers write them
 * (db/functions), in the transaction of what happened.
 */
import Type, { type Static, type TSchema } from "typebox";
import { domainName, instant, textLike } from "#use-case/docs.ts";
import type { Scope } from "#use-case/use-case.ts";

interface CatalogueEntry {
  /** When it happens, for people. */
  when: string;
  scope: Scope;
  data: TSchema;
}

const orderData = {
  order_code: textLike("REG-GGRR9DSX-7NH"),
  kind: textLike("create"),
  domain_name: domainName,
};
const failedOrder = Type.Object({
  ...orderData,
  status: textLike("Errors"),
  error_code: textLike("order_failed"),
  error_text: textLike("The registry refused the name."),
});
const name = { domain_name: domainName, expiration_date: instant };
const told = {
  domain_name: domainName,
  expiration_date: Type.Optional(instant),
  text: textLike("name servers changed"),
};
const account = (status: string) => ({ identifier: textLike("hello.example"), status: textLike(status) });
const ofNames = (when: string, data: Record<string, TSchema>) =>
  ({ when, scope: "domains:read", data: Type.Object(data) }) as const satisfies CatalogueEntry;
const ofHosting = (when: string, data: Record<string, TSchema>) =>
  ({ when, scope: "hosting:read", data: Type.Object(data) }) as const satisfies CatalogueEntry;

const zone = { domain_name: domainName, state: textLike("Publishing") };
const ofZones = (when: string, data: Record<string, TSchema>) =>
  ({ when, scope: "dns:read", data: Type.Object(data) }) as const satisfies CatalogueEntry;

export const eventCatalogue = {
  "domain.registered": ofNames("A registration has finished: the name is in your portfolio.", {
    ...name,
    order_code: orderData.order_code,
  }),
  "domain.renewed": ofNames("The name has a new term.", name),
  "domain.restored": ofNames("A deleted name is back.", name),
  "domain.added": ofNames("The operator has added a name to your portfolio.", name),
  "domain.left": ofNames("The name has left your portfolio.", {
    domain_name: domainName,
    reason: textLike("transferred"),
    gaining_registrar: Type.Optional(textLike("other-registrar")),
    restorable_until: Type.Optional(instant),
  }),
  "domain.changed": ofNames("The registry has shown a change that no order made.", told),
  "domain.notice": ofNames("The registry has sent a message about the name.", told),
  "domain.will_renew_changed": ofNames("The renewal of the name was switched on or off.", {
    ...name,
    will_renew: Type.Boolean({ examples: [false] }),
  }),
  "domain.transfer_requested": ofNames("Another registrar asks for the name.", {
    domain_name: domainName,
    gaining_registrar: textLike("other-registrar"),
    requested_at: instant,
    answer_by: Type.Optional(instant),
  }),
  "domain.transfer_ended": ofNames("No other registrar asks for the name any more, and it stays.", {
    domain_name: domainName,
    gaining_registrar: textLike("other-registrar"),
    requested_at: instant,
  }),
  "order.finished": ofNames("An order was carried out.", { ...orderData, status: textLike("Finished") }),
  "order.failed": { when: "An order has failed or was refused.", scope: "domains:read", data: failedOrder },
  "order.cancelled": { when: "An order was cancelled.", scope: "domains:read", data: failedOrder },
  "renewal.attention": ofNames("The schedule could not renew a name. The operator is alerted.", name),
  "hosting.ready": ofHosting("An account works: login, upload and page were tested.", account("Ready")),
  "hosting.failed": ofHosting("An account could not be created.", {
    ...account("Failed"),
    error_text: Type.Optional(textLike("The account could not be created.")),
  }),
  "hosting.changed": ofHosting("A change of an account is in effect.", account("Ready")),
  "hosting.suspended": ofHosting("An account is suspended.", account("Suspended")),
  "hosting.resumed": ofHosting("An account works again.", account("Ready")),
  "hosting.removed": ofHosting("Login and site of an account are removed.", account("Removed")),
  "zone.created": ofZones("A name has a zone here.", zone),
  "zone.served": ofZones("The name servers have the newest version of a zone; at most once a minute for a zone.", {
    ...zone,
    serial: Type.Integer({ examples: [1795215600] }),
  }),
  "zone.leaving": ofZones("The name has left your portfolio. Its zone is served until then, and cannot be changed.", {
    ...zone,
    until: instant,
  }),
  "zone.removed": ofZones("The zone is served no more.", zone),
} as const satisfies Readonly<Record<string, CatalogueEntry>>;

export type EventType = keyof typeof eventCatalogue;
export const eventTypes = Object.keys(eventCatalogue) as EventType[];

/** The types that a key with these scopes may read: in GET /events, and whatever else shows, counts or sends events. */
export const typesOf = (scopes: readonly string[]): EventType[] =>
  eventTypes.filter((type) => scopes.includes(eventCatalogue[type].scope));

/** The scopes that a key needs to read all of these types. */
export const scopesFor = (types: readonly EventType[]): Scope[] => [
  ...new Set(types.map((type) => eventCatalogue[type].scope)),
];

/** @returns the types that a word selects: one type, or all of a family such as `domain.*`; undefined for any other word */
export function selectTypes(word: string): EventType[] | undefined {
  const selected = word.endsWith(".*")
    ? eventTypes.filter((type) => type.startsWith(word.slice(0, -1)))
    : eventTypes.filter((type) => type === word);
  return selected.length > 0 ? selected : undefined;
}

/** An event as resellers see it: in GET /events, in the stream, and as the body of a webhook. */
export const eventShape = Type.Object(
  {
    id: textLike("evt_1_8142_77"),
    type: Type.String({
      examples: ["domain.registered"],
      description: "A program ignores types that it does not know.",
    }),
    created_at: instant,
    data: Type.Unknown({ description: "By type; see docs/events.md. A program ignores fields that it does not know." }),
  },
  {
    title: "Event",
    examples: [
      {
        id: "evt_1_8142_77",
        type: "domain.registered",
        created_at: "2026-11-21T01:39:27.687Z",
        data: {
          domain_name: "hello.example",
          expiration_date: "2027-11-21T01:39:27.687Z",
          order_code: "REG-GGRR9DSX-7NH",
        },
      },
    ],
  },
);
export type ShownEvent = Static<typeof eventShape>;

/** The row of an event. */
export interface EventRow {
  id: string;
  type: string;
  at: Date;
  data: unknown;
}

export const presentEvent = ({ id, type, at, data }: EventRow): ShownEvent => ({
  id,
  type,
  created_at: at.toISOString(),
  data,
});
