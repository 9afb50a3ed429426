/** The control port: the driver contract as JSON over HTTP on loopback, for whoever has the token. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { type Static, Type } from "typebox";
import type { Log } from "#lib/log.ts";
import { gateRequests } from "#lib/net/http-gate.ts";
import type { Secret } from "#lib/secret.ts";
import { AccountJson, accountFromJson, Identifier, Uid } from "#nodes/account-json.ts";
import { NodeRefused, type RefusalReason } from "#nodes/driver.ts";
import { type Account, type Accounts, describeAccount } from "#nodes/embedded/accounts.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import { commandCounterHeader, type Marks } from "#nodes/embedded/marks.ts";
import type { OneTimeLogins } from "#nodes/embedded/one-time-logins.ts";
import type { UsageFeed } from "#nodes/homes/usage-feed.ts";

/** An account with as many of the longest host names as it can have. */
const bodyBytesMax = 262_144;
const identifierParamCharsMax = 300;
const host = "127.0.0.1";

export interface ControlOptions {
  /** 0: any. */
  port: number;
  token: Secret;
  accounts: Accounts;
  feed: UsageFeed;
  marks: Marks;
  oneTimeLogins: OneTimeLogins;
  /** PEM: what the FTP server shows. */
  certificate: string;
  limits: EmbeddedNodeLimits;
  log: Log;
}

export interface ControlServer {
  port: number;
  close(): Promise<void>;
}

const Params = Type.Object({ identifier: Identifier });
const UidBody = Type.Object({ uid: Uid });
const UidQuery = Type.Object({ uid: Uid });
const UsageQuery = Type.Object({ after: Type.Integer({ minimum: 0 }), waitMs: Type.Integer({ minimum: 0 }) });

/** Starts the control port. @throws when the port is taken */
export async function startControlServer(options: ControlOptions): Promise<ControlServer> {
  const server = fastify({
    bodyLimit: bodyBytesMax,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: identifierParamCharsMax },
    ajv: { customOptions: { removeAdditional: false } },
  });
  gateRequests(server.server);
  const tokenHash = sha256(options.token.reveal());
  server.addHook("onRequest", async (request, reply) => {
    const given = sha256(request.headers.authorization?.replace(/^Bearer /, "") ?? "");
    if (!timingSafeEqual(given, tokenHash)) return reply.code(401).send({ error: "unauthorized" });
  });
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    if (error instanceof NodeRefused)
      return refuse(reply, error.reason === "account_unknown" ? 404 : 409, error.reason);
    if ((error.statusCode ?? 500) < 500) {
      options.log.warn({ err: error }, "control request refused");
      return refuse(reply, 400, "invalid");
    }
    options.log.error({ err: error }, "control request failed");
    return reply.code(500).send({ error: "failed" });
  });
  server.addHook("preHandler", async (request) => {
    // Only commands carry one. Whoever commands as another release did carries none, and is obeyed all the same.
    const counter = request.headers[commandCounterHeader];
    if (counter === undefined) return;
    if (!/^[1-9][0-9]{0,15}$/.test(String(counter))) throw new NodeRefused("invalid");
    await options.marks.raise({ counter: Number(counter) });
  });
  addChangeRoutes(server, options);
  addReadRoutes(server, options);
  await server.listen({ host, port: options.port });
  return { port: (server.server.address() as AddressInfo).port, close: () => server.close() };
}

function addChangeRoutes(server: FastifyInstance, { accounts, oneTimeLogins, certificate }: ControlOptions): void {
  type Key = { Params: Static<typeof Params>; Body: Static<typeof UidBody> };
  server.put<{ Params: Static<typeof Params>; Body: AccountJson }>(
    "/accounts/:identifier",
    { schema: { params: Params, body: AccountJson } },
    async (request, reply) => {
      if (request.body.identifier !== request.params.identifier) throw new NodeRefused("invalid");
      await accounts.ensure(accountFromJson(request.body));
      return reply.code(204).send();
    },
  );
  server.delete<{ Params: Static<typeof Params>; Querystring: Static<typeof UidQuery> }>(
    "/accounts/:identifier",
    { schema: { params: Params, querystring: UidQuery } },
    async ({ params, query }, reply) => {
      await accounts.remove({ ...params, ...query });
      return reply.code(204).send();
    },
  );
  const createLogin = (account: Account) => {
    const { user, password } = oneTimeLogins.create(account);
    return { user, password: password.reveal(), certificate };
  };
  server.post<Key>(
    "/accounts/:identifier/probe-login",
    { schema: { params: Params, body: UidBody } },
    async ({ params, body }) => {
      const account = accounts.get({ ...params, ...body });
      if (account.record.suspended) throw new NodeRefused("suspended");
      return { login: account.record.ftpEnabled ? createLogin(account) : null };
    },
  );
  server.post<Key>(
    "/accounts/:identifier/one-time-login",
    { schema: { params: Params, body: UidBody } },
    async ({ params, body }) => createLogin(accounts.get({ ...params, ...body })),
  );
}

function addReadRoutes(server: FastifyInstance, { accounts, feed, marks, limits }: ControlOptions): void {
  server.get("/marks", async () => marks.highest);
  server.get("/accounts", async () => ({ accounts: accounts.list().map(describeAccount) }));
  server.get<{ Params: Static<typeof Params> }>(
    "/accounts/:identifier",
    { schema: { params: Params } },
    async ({ params }) => {
      const account = accounts.find(params.identifier);
      if (account === undefined) throw new NodeRefused("account_unknown");
      return describeAccount(account);
    },
  );
  server.get<{ Querystring: Static<typeof UsageQuery> }>(
    "/usage",
    { schema: { querystring: UsageQuery } },
    async (request, reply) => {
      const { after, waitMs } = request.query;
      if (feed.changedAfter(after).length === 0) {
        const gone = new AbortController();
        reply.raw.once("close", () => gone.abort());
        await feed.nextChange(Math.min(waitMs, limits.usageWaitMsMax), gone.signal);
      }
      return accounts.usageAfter(after);
    },
  );
}

function refuse(reply: FastifyReply, status: number, reason: RefusalReason): FastifyReply {
  return reply.code(status).send({ error: reason });
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
