import type { Faults } from "./faults.ts";
import type { Holds } from "./holds.ts";
import { type CommandEffect, effectOf } from "./labels.ts";
import type { ResultCode } from "./result-codes.ts";
import type { Schedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./store.ts";
import type { Markup, XmlElement } from "./xml.ts";

/** The state of one connection. */
export interface SessionState {
  connection: number;
  registrar?: string | undefined;
  /** The object services and extensions that the login requested. */
  services: ReadonlySet<string>;
  loginFailures: number;
  /** Commands since the connection, and since the login. */
  commands: number;
  commandsSinceLogin: number;
  loggedInAt?: Date | undefined;
  /** The code that refuses every command but login after the registry has forgotten the login. */
  forgottenCode?: ResultCode | undefined;
}

/** The registry, as its commands see it. */
export interface Registry {
  settings: Settings;
  suffixes: readonly string[];
  /** Passwords by registrar id, as configured; store.passwords overrides them. */
  registrars: ReadonlyMap<string, string>;
  store: Store;
  schedule: Schedule;
  holds: Holds;
  faults: Faults;
  /** The open connections, logged in or not. */
  sessions: Set<SessionState>;
  now: () => Date;
}

/** One command, for its handler. */
export interface CommandContext {
  registry: Registry;
  session: SessionState;
  /** Who is logged in; "" for login itself. */
  registrar: string;
  /** `<domain:create>` of a `<create>`; `<login>`, `<poll>`, `<logout>` themselves. */
  element: XmlElement;
  /** The operation of a transfer: "request", "query" … */
  op: string | undefined;
  /** The children of the command's `<extension>`; the login requested all of these extensions. */
  extensions: readonly XmlElement[];
  clTRID: string | undefined;
  svTRID: string;
  effect: CommandEffect;
}

export interface Outcome {
  code: ResultCode;
  resData?: Markup | undefined;
  msgQ?: Markup | undefined;
  /** The content of the response's `<extension>`. */
  extension?: Markup[] | undefined;
  /** Sent in place of the response. */
  instead?: string | undefined;
}

/** Executes one command. @throws Refusal, and changes nothing */
export type CommandHandler = (context: CommandContext) => Outcome;

/** The effect of the label of `name`; undefined if it acts once and has done so. */
export function activeEffect(registry: Registry, name: string): CommandEffect | undefined {
  const effect = effectOf(name, registry.settings);
  return effect.once && registry.store.firedLabels.find(name) ? undefined : effect;
}
