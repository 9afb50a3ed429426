/** The data folder of `deedhouse start`: who may use it, and its keys. */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FolderBusy, lockFolder } from "#lib/folder-lock.ts";
import type { Random } from "#lib/random.ts";
import { parseNamedKey, sandboxKeyId } from "#lib/sealed-secret.ts";

export interface DataDir {
  root: string;
  postgres: string;
  registry: string;
  thinRegistry: string;
  node: string;
  replay: string;
  logs: string;
  compileCache: string;
  masterKeyFile: string;
  /** The key with which the hosting node's agent has joined the gateway. */
  agentFile: string;
  registrarsFile: string;
  registriesFile: string;
  /** The addresses of this instance, for the operator's commands. */
  instanceFile: string;
}

/**
 * Creates the folder when it is missing.
 * @throws Error with one sentence that says what to do
 */
export function openDataDir(path: string, random: Random): DataDir {
  const root = resolve(path);
  const at = (...parts: string[]) => join(root, ...parts);
  const dir: DataDir = {
    root,
    postgres: at("postgres"),
    registry: at("registry"),
    thinRegistry: at("registry-thin"),
    node: at("node"),
    replay: at("replay"),
    logs: at("logs"),
    compileCache: at("compile-cache"),
    masterKeyFile: at("keys", "master.key"),
    agentFile: at("node", "agent.json"),
    registrarsFile: at("keys", "registrars.json"),
    registriesFile: at("keys", "registries.json"),
    instanceFile: at("keys", "instance.json"),
  };
  try {
    for (const folder of [root, at("keys"), dir.postgres, dir.registry, dir.node, dir.replay, dir.logs]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    accessSync(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "it cannot be used";
    throw new Error(`the data folder ${root} cannot be written (${reason}): name another one with --data DIR`);
  }
  // With a new master key, all secrets of an old database would silently become unreadable.
  if (!existsSync(dir.masterKeyFile) && existsSync(join(dir.postgres, "cluster"))) {
    throw new Error(
      `${dir.masterKeyFile} is missing, and without it the secrets in this folder's database cannot be read: put it back, or name a new folder with --data DIR`,
    );
  }
  ensureFile(dir.masterKeyFile, () => `${sandboxKeyId}:${random.bytes(32).toString("hex")}\n`);
  ensureFile(dir.registrarsFile, () =>
    JSON.stringify([newRegistrar("deedhouse", random), newRegistrar("rival", random)]),
  );
  checkMasterKey(dir);
  readRegistrar(dir);
  return dir;
}

function checkMasterKey({ masterKeyFile }: DataDir): void {
  try {
    for (const text of readFileSync(masterKeyFile, "utf8")
      .trim()
      .split(/[\s,]+/))
      parseNamedKey(text);
  } catch {
    throw new Error(`${masterKeyFile} contains no master key: put it back, or name a new folder with --data DIR`);
  }
}

function newRegistrar(id: string, random: Random): Registrar {
  // RFC 5730 §4.1 (pwType): 6 to 16 characters.
  return { id, password: random.bytes(12).toString("base64url") };
}

interface Registrar {
  id: string;
  password: string;
}

/** The gateway's account at the sandbox registry. @throws Error with one sentence */
export function readRegistrar({ registrarsFile }: DataDir): Registrar {
  try {
    const [own] = JSON.parse(readFileSync(registrarsFile, "utf8")) as Partial<Registrar>[];
    if (own?.id && own.password) return { id: own.id, password: own.password };
  } catch {
    // Reported below.
  }
  throw new Error(`${registrarsFile} contains no registrar: remove it, and the next start creates a new one`);
}

function ensureFile(path: string, content: () => string): void {
  if (!existsSync(path)) writePrivateFile(path, content());
}

/** Writes a file that only its owner can read, and that is never visible half written. */
export function writePrivateFile(path: string, content: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}

/**
 * Makes sure that no other process starts on the same folder.
 * @throws Error with one sentence
 */
export function lockDataDir(dir: DataDir): Disposable {
  try {
    return lockFolder(dir.root);
  } catch (error) {
    if (!(error instanceof FolderBusy)) throw error;
    throw new Error(`another deedhouse already runs on ${dir.root}: stop it, or name another folder with --data DIR`);
  }
}
