import type { Faults } from "./faults.ts";
import type { Holds } from "./holds.ts";
import { effectOf, type LabelEffect } from "./labels.ts";
import type { ResultCode } from "./result-codes.ts";
import type { Schedule } from "./schedule.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./store.ts";
import type { Markup, XmlElement } from "./xml.ts";

/** What one connection knows of itself. */
export interface SessionState {
  connection: number;
  registrar?: string | undefined;
  /** The object services and extensions the login asked for. */
  services: ReadonlySet<string>;
  loginFailures: number;
  /** Commands so far, and so far since the login. */
  commands: number;
  commandsSinceLogin: number;
  loggedInAt?: Date | undefined;
  /** What every command but login is refused with once the registry has forgotten the login. */
  forgottenCode?: ResultCode | undefined;
}

/** What every command works on. */
export interface Registry {
  settings: Settings;
  suffixes: readonly string[];
  /** Passwords by registrar id, as configured; store.passwords overrides them. */
  registrars: ReadonlyMap<string, string>;
  store: Store;
  schedule: Schedule;
  holds: Holds;
  faults: Faults;
  /** The live connections, logged in or not. */
  sessions: Set<SessionState>;
  now: () => Date;
}

/** One command on its way through a handler. */
export interface CommandContext {
  registry: Registry;
  session: SessionState;
  /** Who is logged in; "" for login itself. */
  registrar: string;
  /** `<domain:create>` of a `<create>`; `<login>`, `<poll>`, `<logout>` themselves. */
  element: XmlElement;
  /** What a transfer is to do: "request", "query" … */
  op: string | undefined;
  /** The children of the command's `<extension>`, all of them of extensions that the login asked for. */
  extensions: readonly XmlElement[];
  clTRID: string | undefined;
  svTRID: string;
  effect: LabelEffect;
}

export interface Outcome {
  code: ResultCode;
  resData?: Markup | undefined;
  msgQ?: Markup | undefined;
  /** The content of the response's `<extension>`. */
  extension?: Markup[] | undefined;
}

/** Executes one command, or throws a Refusal and changes nothing. */
export type CommandHandler = (context: CommandContext) => Outcome;

/** What the label of `name` still asks for: a label that acts once does nothing after it has. */
export function activeEffect(registry: Registry, name: string): LabelEffect | undefined {
  const effect = effectOf(name, registry.settings);
  return effect.once && registry.store.firedLabels.find(name) ? undefined : effect;
}
