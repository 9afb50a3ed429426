import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCertificate, loadClientCertificate } from "./certificates.ts";
import { systemNow, VirtualClock } from "./clock.ts";
import { addBillingContacts } from "./commands/dnsbe.ts";
import { startControl } from "./control.ts";
import { parseDomainName } from "./domain-name.ts";
import { familySettings } from "./families.ts";
import { type FaultSettings, Faults } from "./faults.ts";
import { Holds } from "./holds.ts";
import { startListener } from "./listener.ts";
import { type Operations, operationsOf } from "./operations.ts";
import type { RunningRegistry } from "./running-registry.ts";
import { Schedule } from "./schedule.ts";
import { seedNameServers } from "./seed.ts";
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
  /** Where registry.sqlite is kept; absent: in memory only. */
  dataDir?: string;
  /** Where the certificate is kept; absent: in `dataDir`/tls, or in a temporary folder that close() removes. */
  tlsDir?: string | undefined;
  /** The suffixes under which names are sold, e.g. "test", "co.test". */
  suffixes: string[];
  registrars: RegistrarAccount[];
  /** Every client must show a certificate that one of this file's CAs has signed. */
  clientCaFile?: string;
  /** The same with a client certificate that the registry creates: see clientCertFile. */
  clientCertificates?: boolean;
  now?: () => Date;
  /** Faults from the start; a reset brings them back. */
  faults?: Partial<FaultSettings>;
  /** Host objects that exist from the start, such as "ns1.dns.test", with the name above them. */
  nameServers?: string[];
  /** True is refused: this registry must never stand in for a real one. */
  production?: boolean;
}

export interface SandboxRegistry extends Operations {
  port: number;
  controlPort: number;
  /** The CA certificate a client pins. */
  caFile: string;
  /** The client certificate that the registry created, if it requires one and was given no CA. */
  clientCertFile?: string | undefined;
  clientKeyFile?: string | undefined;
  close(): Promise<void>;
}

/**
 * Starts an EPP server (RFC 5730–5734) for development and tests.
 *
 * @throws Error when an option is invalid, a port is taken, or the store can't be read
 */
export async function startSandboxRegistry(options: SandboxRegistryOptions): Promise<SandboxRegistry> {
  requireSensible(options);
  const settings = pickSettings(options);
  await using opened = new AsyncDisposableStack();
  const tlsDir = await tlsFolder(options, opened);
  const certificate = await loadCertificate(tlsDir);
  const client = options.clientCertificates ? await loadClientCertificate(tlsDir) : undefined;
  const clientCaFile = options.clientCaFile ?? client?.clientCertFile;
  const store = new Store(settings.journalFramesMax);
  opened.defer(() => store.close());
  if (options.dataDir) await store.open(options.dataDir);
  const clock = new VirtualClock(options.now ?? systemNow, store.clock.find("clock")?.offsetMs ?? 0);
  const schedule = opened.adopt(new Schedule(store, settings, clock), (held) => held.clear());
  const registrars = new Map(options.registrars.map(({ id, password }) => [id, password]));
  const parts = { settings, suffixes: options.suffixes, registrars, store, schedule, now: clock.now };
  const registry: RunningRegistry = {
    ...parts,
    holds: new Holds(),
    faults: new Faults(options.faults),
    sessions: new Set(),
  };
  addBillingContacts(registry);
  const { host = "127.0.0.1" } = options;
  const listener = await startListener(registry, { ...certificate, clientCaFile }, host, options.port ?? 0);
  opened.defer(() => {
    const closed = listener.close();
    registry.holds.dropAll();
    return closed;
  });
  const operations = operationsOf(registry, listener, clock);
  const control = await startControl(operations, options.controlPort ?? 0);
  opened.defer(() => control.close());
  schedule.runDue();
  await seedNameServers(registry, options.nameServers ?? []);
  const owned = opened.move();
  const { port } = listener;
  const { caFile } = certificate;
  return { ...operations, ...client, port, caFile, controlPort: control.port, close: () => owned.disposeAsync() };
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
  const ofFamily = familySettings[options.family ?? defaultSettings.family];
  const graceDays = { ...defaultSettings.graceDays, ...ofFamily.graceDays, ...options.graceDays };
  return { ...defaultSettings, ...ofFamily, ...Object.fromEntries(given), graceDays };
}
