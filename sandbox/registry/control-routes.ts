import { type Static, type TObject, Type } from "typebox";
import { commandNames } from "./dispatch.ts";
import type { FaultSettings } from "./faults.ts";
import { type HoldRequest, holdPoints } from "./holds.ts";
import { type DomainChange, type TransferIntervention, transferSteps } from "./interventions.ts";
import type { Operations } from "./operations.ts";

interface Call<Query, Body> {
  registry: Operations;
  /** The part of the path for `<name>` or `<id>`. */
  item: string;
  query: Query;
  body: Body;
}

/** A route of the control port; it answers with the result of `handle` as JSON. */
export interface Route {
  means: string;
  /** The shape of the query and of the body; undefined: no body. */
  query: TObject;
  body: TObject | undefined;
  handle: (call: Call<never, never>) => unknown;
}

/** Nothing has that name or id: 404. */
export class NotFound extends Error {}

const entriesMax = 10_000;
const padBytesMax = 128 * 1024 * 1024;
const msPerDay = 24 * 60 * 60_000;

/** Of a digest, as the rows have it. */
const hexadecimal = "^([0-9A-F]{2})+$";

const closed = { additionalProperties: false };
const nothing = Type.Object({}, closed);
const maybeText = Type.Optional(Type.String());
const maybeNumber = Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" }));
const maybeBoolean = Type.Optional(Type.Enum(["true", "false"]));

const journalQuery = Type.Object(
  {
    name: maybeText,
    command: maybeText,
    registrar: maybeText,
    clTRID: maybeText,
    direction: Type.Optional(Type.Enum(["in", "out", "event"])),
    executed: maybeBoolean,
    code: maybeNumber,
    connection: maybeNumber,
    after: maybeNumber,
    limit: maybeNumber,
  },
  closed,
);

const domainSeed = Type.Object(
  {
    name: Type.String(),
    registrar: maybeText,
    crDate: maybeText,
    exDate: maybeText,
    statuses: Type.Optional(Type.Array(Type.String())),
    authInfo: maybeText,
    registrant: maybeText,
  },
  closed,
);

const seedBody = Type.Object(
  { names: Type.Optional(Type.Array(Type.String())), domains: Type.Optional(Type.Array(domainSeed)) },
  closed,
);

const holdBody = Type.Object(
  {
    command: Type.Enum([...commandNames]),
    name: maybeText,
    at: Type.Enum([...holdPoints]),
    times: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  closed,
);

const messageBody = Type.Object(
  {
    registrar: Type.String(),
    text: maybeText,
    xml: maybeText,
    extension: maybeText,
    raw: maybeText,
    padBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: padBytesMax })),
  },
  closed,
);

const transferBody = Type.Object(
  { name: Type.String(), op: Type.Enum([...transferSteps]), registrar: maybeText },
  closed,
);

const byte = Type.Integer({ minimum: 0, maximum: 255 });
const twoBytes = Type.Integer({ minimum: 0, maximum: 65_535 });
const texts = Type.Optional(Type.Array(Type.String()));

const changeBody = Type.Object(
  {
    addStatuses: texts,
    removeStatuses: texts,
    nameServers: Type.Optional(Type.Array(Type.Object({ name: Type.String(), addresses: texts }, closed))),
    registrant: maybeText,
    contacts: Type.Optional(
      Type.Array(Type.Object({ type: Type.Enum(["admin", "billing", "tech"]), id: Type.String() }, closed)),
    ),
    dsData: Type.Optional(
      Type.Array(
        Type.Object(
          { keyTag: twoBytes, alg: byte, digestType: byte, digest: Type.String({ pattern: hexadecimal }) },
          closed,
        ),
      ),
    ),
    keyData: Type.Optional(
      Type.Array(Type.Object({ flags: twoBytes, protocol: byte, alg: byte, pubKey: Type.String() }, closed)),
    ),
    exDate: maybeText,
    registrar: maybeText,
    removed: Type.Optional(Type.Literal(true)),
    message: Type.Optional(
      Type.Object(
        {
          text: maybeText,
          changePoll: Type.Optional(
            Type.Object(
              {
                operation: Type.Optional(Type.Enum(["delete", "transfer", "update", "custom"])),
                who: maybeText,
                reason: maybeText,
                caseId: maybeText,
                states: Type.Optional(Type.Array(Type.Enum(["before", "after"]), { minItems: 1 })),
              },
              closed,
            ),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);

const decisionBody = Type.Object({ name: Type.String(), decision: Type.Enum(["approve", "deny", "lose"]) }, closed);

const clockBody = Type.Object(
  { advanceMs: Type.Optional(Type.Integer()), advanceDays: Type.Optional(Type.Integer()) },
  closed,
);

const creditBody = Type.Object({ registrar: Type.String(), amount: Type.Number() }, closed);
const executeQuery = Type.Object({ execute: maybeBoolean }, closed);
const reachedQuery = Type.Object({ reached: maybeNumber }, closed);
const done = { done: true };

/** All routes, as `GET /` lists them. `<…>` at the end of a path is one segment with any text. */
export const routes: Readonly<Record<string, Route>> = {
  "GET /journal": asking("frames and events, oldest first", journalQuery, ({ registry, query }) => {
    const { after, limit, code, connection, executed, ...equal } = query;
    const numbers = { after: numberOf(after), code: numberOf(code), connection: numberOf(connection) };
    const isExecuted = executed === undefined ? undefined : executed === "true";
    const entries = registry.store.journal.entries({ ...equal, ...numbers, executed: isExecuted });
    return { entries: entries.slice(0, Math.min(numberOf(limit) ?? entriesMax, entriesMax)) };
  }),
  "GET /domains": reading("all names", ({ store }) => ({ domains: store.domains.values() })),
  "GET /domains/<name>": reading("one name", ({ store }, name) => found(store.domains.find(name.toLowerCase()))),
  "GET /contacts": reading("all contacts", ({ store }) => ({ contacts: store.contacts.values() })),
  "GET /hosts": reading("all host objects", ({ store }) => ({ hosts: store.hosts.values() })),
  "GET /sessions": reading("open connections, and their registrars", (registry) => ({ sessions: registry.sessions() })),
  "GET /messages": reading("the messages in the poll queues", ({ store }) => ({ messages: store.messages.values() })),
  "POST /messages": taking("adds a message to a poll queue", messageBody, async ({ registry, body }) => ({
    id: await registry.enqueueMessage(body),
  })),
  "POST /seed": taking("registers names without a command", seedBody, async ({ registry, body }) => {
    if (!body.names && !body.domains) throw new RangeError("names or domains are required");
    await registry.seed([...(body.names ?? []), ...(body.domains ?? [])]);
    return done;
  }),
  "POST /transfers": taking("takes a step of a transfer", transferBody, async ({ registry, body }) => {
    await registry.transfer(body as TransferIntervention);
    return registry.store.domains.find(body.name.toLowerCase())?.transfer;
  }),
  "POST /domains/<name>": taking(
    "changes a name behind the back of its registrar",
    changeBody,
    async ({ registry, item, body }) => {
      found(registry.store.domains.find(item.toLowerCase()));
      await registry.change(item, body as DomainChange);
      return registry.store.domains.find(item.toLowerCase()) ?? done;
    },
  ),
  "POST /decisions": taking(
    "decides what is pending about a name, a host or a contact",
    decisionBody,
    async ({ registry, body }) => {
      await registry.decide(body.name, body.decision as "approve" | "deny" | "lose");
      return done;
    },
  ),
  "POST /credit": taking("sets a registrar's credit", creditBody, async ({ registry, body }) => {
    await registry.setCredit(body.registrar, body.amount);
    return done;
  }),
  "GET /clock": reading("the registry's time", (registry) => ({ now: registry.now().toISOString() })),
  "POST /clock": taking("advances the clock", clockBody, async ({ registry, body }) => {
    await registry.advance((body.advanceMs ?? 0) + (body.advanceDays ?? 0) * msPerDay);
    return { now: registry.now().toISOString() };
  }),
  "GET /faults": reading("the current faults", ({ faults }) => faults.current),
  "POST /faults": taking("changes the given faults", Type.Object({}), ({ registry, body }) => {
    registry.setFaults(body as Partial<FaultSettings>);
    return registry.faults.current;
  }),
  "GET /holds": reading("the holds and their frames", ({ holds }) => ({ holds: holds.list() })),
  "POST /holds": taking("holds frames of a command", holdBody, ({ registry, body }) => ({
    id: registry.hold(body as HoldRequest).id,
  })),
  "GET /holds/<id>": asking("one hold, once it has held `reached` frames", reachedQuery, waitForHold),
  "DELETE /holds": asking("releases all holds", executeQuery, ({ registry, query }) => {
    registry.holds.releaseAll({ execute: query.execute !== "false" });
    return done;
  }),
  "DELETE /holds/<id>": asking("releases a hold", executeQuery, ({ registry, item, query }) => {
    found(registry.holds.find(Number(item))).release({ execute: query.execute !== "false" });
    return done;
  }),
  "POST /reset": doing("removes everything, drops all connections", (registry) => registry.reset()),
  "POST /sessions/close": doing("drops all connections", (registry) => registry.closeSessions()),
  "POST /pause": doing("resets every connection until resumed", (registry) => registry.pause()),
  "POST /resume": doing("accepts connections again", (registry) => registry.resume()),
};

async function waitForHold({ registry, item, query }: Call<Static<typeof reachedQuery>, undefined>): Promise<unknown> {
  const id = Number(item);
  const hold = found(registry.holds.find(id));
  await hold.reached(Number(query.reached ?? 0)).catch((error: Error) => {
    throw new NotFound(error.message);
  });
  return found(registry.holds.list().find((listed) => listed.id === id));
}

function asking<Query extends TObject>(
  means: string,
  query: Query,
  handle: (call: Call<Static<Query>, undefined>) => unknown,
): Route {
  return { means, query, body: undefined, handle };
}

function reading(means: string, read: (registry: Operations, item: string) => unknown): Route {
  return asking(means, nothing, ({ registry, item }) => read(registry, item));
}

function doing(means: string, act: (registry: Operations) => void | Promise<void>): Route {
  return asking(means, nothing, async ({ registry }) => {
    await act(registry);
    return done;
  });
}

function taking<Body extends TObject>(
  means: string,
  body: Body,
  handle: (call: Call<object, Static<Body>>) => unknown,
): Route {
  return { means, query: nothing, body, handle };
}

function found<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new NotFound("nothing has that name or id");
  return thing;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
