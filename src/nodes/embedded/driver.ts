import { type Static, type TSchema, Type } from "typebox";
import { Value } from "typebox/value";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { accountToJson, Identifier } from "#nodes/account-json.ts";
import {
  type AccountKey,
  type CommandCounter,
  type Endpoint,
  type HostingNode,
  NodeRefused,
  NodeUnavailable,
  type RefusalReason,
  refusalReasons,
} from "#nodes/driver.ts";
import { commandCounterHeader } from "#nodes/embedded/marks.ts";
import { probeAccount } from "#nodes/probe.ts";

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
  /** Without it commands carry no counter. */
  commands?: CommandCounter;
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
const Marks = Type.Object({ counter: Type.Integer({ minimum: 0 }), uid: Type.Integer({ minimum: 0 }) });
const Refusal = Type.Object({ error: Type.Union(refusalReasons.map((reason) => Type.Literal(reason))) });

/** The driver of an embedded node: speaks to its control port, and as a customer to its FTP and web ports. */
export function createEmbeddedNodeDriver(options: EmbeddedNodeDriverOptions): HostingNode {
  const control = createControl(options);
  const post = ({ identifier, uid }: AccountKey, verb: string) =>
    control("POST", `${pathOf(identifier)}/${verb}`, { uid });
  const { readMarks, command } = createCommands(options, control);
  const list = async () => parse(ShownList, await control("GET", "/accounts")).accounts;
  return {
    ensureAccount: async (account) => {
      await command("PUT", pathOf(account.identifier), accountToJson(account));
    },
    remove: async (account) => {
      await command("DELETE", `${pathOf(account.identifier)}?uid=${account.uid}`);
    },
    find: async (identifier) => {
      try {
        return parse(Shown, await control("GET", pathOf(identifier)));
      } catch (error) {
        if (error instanceof NodeRefused && error.reason === "account_unknown") return undefined;
        throw error;
      }
    },
    list,
    highestUid: async () => {
      const marks = await readMarks();
      if (!marks) return (await list()).reduce((highest, { uid }) => Math.max(highest, uid), 0);
      await options.commands?.saw(marks.counter);
      return marks.uid;
    },
    usageChanges: async ({ after, waitMs, signal }) => {
      const limit = AbortSignal.timeout(waitMs + waitGraceMs);
      const either = signal === undefined ? limit : AbortSignal.any([signal, limit]);
      return parse(
        Changes,
        await control("GET", `/usage?after=${after}&waitMs=${waitMs}`, undefined, { signal: either }),
      );
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

/** What changes the node carries a counter, where somebody counts. */
function createCommands({ commands }: EmbeddedNodeDriverOptions, control: Control) {
  /** Nothing of a node of a release that kept no marks. */
  const readMarks = async () => {
    const answer = await control("GET", "/marks", undefined, { isOptional: true });
    return answer === undefined ? undefined : parse(Marks, answer);
  };
  return {
    readMarks,
    async command(method: string, path: string, body?: object): Promise<unknown> {
      if (!commands) return control(method, path, body);
      // Asked for each time: another process may have commanded the node meanwhile.
      const counter = await commands.take((await readMarks())?.counter ?? 0);
      return control(method, path, body, { headers: { [commandCounterHeader]: String(counter) } });
    },
  };
}

interface ControlOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Nothing is returned where the node does not know the path. */
  isOptional?: boolean;
}

type Control = (method: string, path: string, body?: object, options?: ControlOptions) => Promise<unknown>;

/** Asks the control port. @throws NodeUnavailable, NodeRefused */
function createControl({ controlUrl, controlToken }: EmbeddedNodeDriverOptions): Control {
  return async (method, path, body, { signal = AbortSignal.timeout(requestMs), headers: own, isOptional } = {}) => {
    const headers: Record<string, string> = { authorization: `Bearer ${controlToken.reveal()}`, ...own };
    if (body !== undefined) headers["content-type"] = "application/json";
    const question = { method, headers, signal, body: body === undefined ? null : JSON.stringify(body) };
    const answer = await ask(new URL(path, controlUrl), question);
    if (answer.status < 300) return answer.json;
    if (isOptional && answer.status === 404) return undefined;
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
