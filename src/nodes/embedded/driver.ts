import { type Static, type TSchema, Type } from "typebox";
import { Value } from "typebox/value";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { accountToJson, Identifier } from "../account-json.ts";
import {
  type AccountKey,
  type Endpoint,
  type HostingNode,
  NodeRefused,
  NodeUnavailable,
  type RefusalReason,
  refusalReasons,
} from "../driver.ts";
import { probeAccount } from "../probe.ts";

const requestMs = 10_000;
/** Above what the node was asked to wait. */
const waitGraceMs = 5_000;

export interface EmbeddedNodeDriverOptions {
  /** `http://127.0.0.1:<controlPort>` */
  controlUrl: string;
  controlToken: Secret;
  ftp: Endpoint;
  web: Endpoint;
  siteDomain: string;
  random: Random;
  log: Log;
}

const usageFields = { bytes: Type.Integer(), files: Type.Integer() };
const keyFields = { identifier: Type.String(), uid: Type.Integer() };
const Shown = Type.Object({
  ...keyFields,
  diskBytesMax: Type.Integer(),
  filesMax: Type.Integer(),
  sessionsMax: Type.Integer(),
  ftpEnabled: Type.Boolean(),
  suspended: Type.Boolean(),
  hostNames: Type.Array(Type.String()),
  usage: Type.Object(usageFields),
});
const ShownList = Type.Object({ accounts: Type.Array(Shown) });
const Changes = Type.Object({
  version: Type.Integer(),
  accounts: Type.Array(
    Type.Object({
      ...keyFields,
      ...usageFields,
      traffic: Type.Object({ month: Type.String(), bytes: Type.Integer() }),
    }),
  ),
});
const OneTimeLogin = Type.Object({ user: Type.String(), password: Type.String(), certificate: Type.String() });
const ProbeLogin = Type.Object({ login: Type.Union([OneTimeLogin, Type.Null()]) });
const Refusal = Type.Object({ error: Type.Union(refusalReasons.map((reason) => Type.Literal(reason))) });

/** The driver of an embedded node: speaks to its control port, and as a customer to its FTP and web ports. */
export function createEmbeddedNodeDriver(options: EmbeddedNodeDriverOptions): HostingNode {
  const control = createControl(options);
  const post = async (account: AccountKey, verb: string, fields: object = {}) =>
    control("POST", `${pathOf(account.identifier)}/${verb}`, { uid: account.uid, ...fields });
  const find = async (identifier: string) => {
    try {
      return parse(Shown, await control("GET", pathOf(identifier)));
    } catch (error) {
      if (error instanceof NodeRefused && error.reason === "account_unknown") return undefined;
      throw error;
    }
  };
  return {
    ensureAccount: async (account) => {
      await control("PUT", pathOf(account.identifier), accountToJson(account));
    },
    setPassword: async (account, passwordHash) => {
      await post(account, "password", { passwordHash: passwordHash.reveal() });
    },
    setLimits: async (account, { diskBytesMax, filesMax, sessionsMax, ftpEnabled }) => {
      await post(account, "limits", { diskBytesMax, filesMax, sessionsMax, ftpEnabled });
    },
    suspend: async (account) => {
      await post(account, "suspend");
    },
    resume: async (account) => {
      await post(account, "resume");
    },
    remove: async (account) => {
      await control("DELETE", `${pathOf(account.identifier)}?uid=${account.uid}`);
    },
    find,
    list: async () => parse(ShownList, await control("GET", "/accounts")).accounts,
    usage: async (identifier) => {
      const account = await find(identifier);
      if (account === undefined) throw new NodeRefused("account_unknown");
      return account.usage;
    },
    usageChanges: async ({ after, waitMs, signal }) => {
      const limit = AbortSignal.timeout(waitMs + waitGraceMs);
      const either = signal === undefined ? limit : AbortSignal.any([signal, limit]);
      return parse(Changes, await control("GET", `/usage?after=${after}&waitMs=${waitMs}`, undefined, either));
    },
    probe: async (account) => {
      const { login } = parse(ProbeLogin, await post(account, "probe-login"));
      await probeAccount({ ...options, identifier: account.identifier, login });
    },
    oneTimeLogin: async (account) => {
      const { password, ...login } = parse(OneTimeLogin, await post(account, "one-time-login"));
      return { ...options.ftp, ...login, password: new Secret(password) };
    },
  };
}

type Control = (method: string, path: string, body?: object, signal?: AbortSignal) => Promise<unknown>;

/** Asks the control port. @throws NodeUnavailable, NodeRefused */
function createControl({ controlUrl, controlToken }: EmbeddedNodeDriverOptions): Control {
  return async (method, path, body, signal = AbortSignal.timeout(requestMs)) => {
    const headers: Record<string, string> = { authorization: `Bearer ${controlToken.reveal()}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const question = { method, headers, signal, body: body === undefined ? null : JSON.stringify(body) };
    const answer = await ask(new URL(path, controlUrl), question);
    if (answer.status < 300) return answer.json;
    if (Value.Check(Refusal, answer.json)) throw new NodeRefused(answer.json.error as RefusalReason);
    throw new NodeUnavailable(`the node's control port answered ${answer.status}`);
  };
}

async function ask(url: URL, question: RequestInit): Promise<{ status: number; json: unknown }> {
  try {
    const response = await fetch(url, question);
    const text = await response.text();
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
  } catch (error) {
    throw new NodeUnavailable("the node's control port does not answer", { cause: error });
  }
}

function parse<Schema extends TSchema>(schema: Schema, json: unknown): Static<Schema> {
  if (!Value.Check(schema, json)) throw new NodeUnavailable("the node's control port answered something unknown");
  return json;
}

/** @throws NodeRefused for what is no identifier: `..` would be another path */
function pathOf(identifier: string): string {
  if (!Value.Check(Identifier, identifier)) throw new NodeRefused("invalid");
  return `/accounts/${encodeURIComponent(identifier)}`;
}
