import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCertificate } from "./certificates.ts";
import { systemNow, VirtualClock } from "./clock.ts";
import { holdElsewhere } from "./commands/domain-data.ts";
import { startControl } from "./control.ts";
import { setCredit } from "./credit.ts";
import { parseDomainName } from "./domain-name.ts";
import { type FaultSettings, Faults } from "./faults.ts";
import { type Hold, type HoldRequest, Holds } from "./holds.ts";
import { startListener } from "./listener.ts";
import { enqueueMessage, type MessageRequest } from "./messages.ts";
import type { Registry } from "./registry.ts";
import { Schedule } from "./schedule.ts";
import { FrameValidator } from "./schema.ts";
import { defaultSettings, type GraceDays, type Settings } from "./settings.ts";
import { Store } from "./store.ts";

export interface RegistrarAccount {
  /** 3 to 16 characters. */
  id: string;
  /** At least 6 characters; more than 16 can only be presented by loginSec (RFC 8807). */
  password: string;
}

export interface SandboxRegistryOptions extends Partial<Omit<Settings, "graceDays">> {
  graceDays?: Partial<GraceDays>;
  /** Where EPP listens; the control port is always on 127.0.0.1. */
  host?: string;
  /** 0 or absent: any free port. */
  port?: number;
  controlPort?: number;
  /** Where registry.jsonl is kept; absent: in memory only. */
  dataDir?: string;
  /** Where the certificate is kept; absent: in `dataDir`/tls, or in a temporary folder that goes away with close(). */
  tlsDir?: string;
  /** Under which names are sold, e.g. "test", "co.test". */
  suffixes: string[];
  registrars: RegistrarAccount[];
  now?: () => Date;
  /** Faults from the start; a reset brings them back. */
  faults?: Partial<FaultSettings>;
  /** True is refused: this registry must never stand in for a real one. */
  production?: boolean;
}

export interface SandboxRegistry {
  port: number;
  controlPort: number;
  /** The CA certificate a client pins. */
  caFile: string;
  /** Objects and journal, for tests in the same process. */
  store: Store;
  /** Drops every connection. */
  closeSessions(): void;
  /** Resets every connection, present and future, until resume(): a registry that is down. */
  pause(): void;
  resume(): void;
  /** Holds frames of a command until released. */
  hold(request: HoldRequest): Hold;
  readonly holds: Holds;
  readonly faults: Faults;
  /** Changes the faults that are named. Throws a RangeError for what is no such fault. */
  setFaults(changes: Partial<FaultSettings>): void;
  /** The registry's time. */
  now(): Date;
  /**
   * Puts the clock forward; all that falls due on the way is done in order, each thing at its own time, when this
   * resolves. Rejects with a RangeError for anything but 0 to 100 years in whole milliseconds.
   */
  advance(ms: number): Promise<void>;
  /** Puts a message at the end of a registrar's poll queue; returns its id. */
  enqueueMessage(request: MessageRequest): Promise<string>;
  /** Sets what a registrar has left to pay with, in units. */
  setCredit(registrar: string, units: number): Promise<void>;
  /** Registers names for the other registrar. */
  seed(names: string[]): Promise<void>;
  /** Forgets everything, puts the clock back, drops every connection, ends a pause and holds, restores the faults. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts an EPP server (RFC 5730–5734) for development and tests. Throws if the options make no sense, a port is
 * taken, or the store can't be read.
 */
export async function startSandboxRegistry(options: SandboxRegistryOptions): Promise<SandboxRegistry> {
  requireSensible(options);
  const settings = pickSettings(options);
  await using opened = new AsyncDisposableStack();
  const certificate = await loadCertificate(await tlsFolder(options, opened));
  const store = new Store(settings.journalFramesMax);
  if (options.dataDir) await store.open(options.dataDir);
  opened.defer(() => store.close());
  const validator = opened.adopt(new FrameValidator(), (held) => held.dispose());
  const clock = new VirtualClock(options.now ?? systemNow, store.clock.find("clock")?.offsetMs ?? 0);
  const { now } = clock;
  const schedule = opened.adopt(new Schedule(store, settings, clock), (held) => held.clear());
  const registrars = new Map(options.registrars.map(({ id, password }) => [id, password]));
  const { suffixes } = options;
  const holds = new Holds();
  const faults = new Faults(options.faults);
  const sessions: Registry["sessions"] = new Set();
  const parts = { settings, suffixes, registrars, store, validator, schedule };
  const registry: Registry = { ...parts, holds, faults, sessions, now };
  const listener = await startListener(registry, certificate, options.host ?? "127.0.0.1", options.port ?? 0);
  opened.defer(() => {
    const closed = listener.close();
    holds.dropAll();
    return closed;
  });
  const running = {
    port: listener.port,
    caFile: certificate.caFile,
    store,
    closeSessions: listener.dropAll,
    pause: listener.pause,
    resume: listener.resume,
    hold: (request: HoldRequest) => holds.place(request),
    holds,
    faults,
    setFaults: (changes: Partial<FaultSettings>) => faults.set(changes),
    now,
    advance: async (ms: number) => {
      schedule.advance(ms);
      return store.durable();
    },
    enqueueMessage: (request: MessageRequest) => enqueueMessage(registry, request),
    setCredit: (registrar: string, units: number) => setCredit(registry, registrar, units),
    seed: (names: string[]) => seed(registry, names),
    reset: async () => {
      listener.dropAll();
      holds.dropAll();
      await listener.idle();
      listener.resume();
      faults.reset();
      schedule.clear();
      store.reset();
      clock.setOffset(0);
      return store.durable();
    },
  };
  const control = await startControl(running, options.controlPort ?? 0);
  opened.defer(() => control.close());
  schedule.runDue();
  const owned = opened.move();
  return { ...running, controlPort: control.port, close: () => owned.disposeAsync() };
}

async function tlsFolder({ tlsDir, dataDir }: SandboxRegistryOptions, opened: AsyncDisposableStack): Promise<string> {
  if (tlsDir) return tlsDir;
  if (dataDir) return join(dataDir, "tls");
  const temporary = await mkdtemp(join(tmpdir(), "sandbox-registry-"));
  opened.defer(() => rm(temporary, { recursive: true }));
  return temporary;
}

function requireSensible({ production, suffixes, registrars }: SandboxRegistryOptions): void {
  if (production)
    throw new Error("The sandbox registry is for development and tests: it does not start in production.");
  if (suffixes.length === 0) throw new Error("The sandbox registry needs at least one suffix.");
  if (registrars.length === 0) throw new Error("The sandbox registry needs at least one registrar.");
  const badSuffix = suffixes.find((suffix) => parseDomainName(`name.${suffix}`) !== `name.${suffix}`);
  if (badSuffix !== undefined) throw new Error(`"${badSuffix}" is not a suffix such as "test" or "co.test".`);
  for (const { id, password } of registrars) {
    if (id.length < 3 || id.length > 16) throw new Error(`Registrar id "${id}": 3 to 16 characters (RFC 5730).`);
    if (password.length < 6) throw new Error(`The password of registrar "${id}": at least 6 characters (RFC 5730).`);
  }
}

function pickSettings(options: SandboxRegistryOptions): Settings {
  const names = Object.keys(defaultSettings) as (keyof Settings)[];
  const given = names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  const graceDays = { ...defaultSettings.graceDays, ...options.graceDays };
  return { ...defaultSettings, ...Object.fromEntries(given), graceDays };
}

async function seed(registry: Registry, names: string[]): Promise<void> {
  const parsed = names.map((name) => parseDomainName(name));
  const bad = parsed.indexOf(undefined);
  if (bad >= 0) throw new RangeError(`"${names[bad]}" is not a domain name.`);
  for (const name of parsed) holdElsewhere(registry, name!);
  await registry.store.durable();
}
