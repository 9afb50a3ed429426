/** Named credentials in a file that only its owner can read, so that commands need no environment variables. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailure, exitCodes } from "./failures.ts";

/** The address of a service and a key for it. */
export interface Profile {
  url: string;
  key: string;
  secret: string;
}

export interface Profiles {
  /** The profile of commands that name none. */
  default?: string;
  profiles: Record<string, Profile>;
}

const fileMode = 0o600;
const folderMode = 0o700;
const groupAndOthers = 0o077;

/** The profiles; none if there is no file. @throws CommandFailure when others can read the file, or it is damaged */
export async function readProfiles(path: string): Promise<Profiles> {
  const text = await readIfExists(path);
  if (text === undefined) return { profiles: {} };
  const { mode } = await stat(path);
  if ((mode & groupAndOthers) !== 0) {
    const advice = `It has secrets. Run: chmod 600 ${path}`;
    throw new CommandFailure(`other users of this machine may read ${path}`, exitCodes.usage, advice);
  }
  const profiles = parseProfiles(text);
  if (profiles) return profiles;
  const advice = `Correct it, or remove it and add your profiles again: ${path}`;
  throw new CommandFailure("the file of profiles is damaged", exitCodes.usage, advice);
}

/** @throws CommandFailure that lists the known names */
export function getProfile({ profiles }: Profiles, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile) return profile;
  const known = Object.keys(profiles);
  const advice =
    known.length === 0
      ? "There is none yet. Add one with: deedhouse profile add NAME --url URL --key KEY"
      : `There are: ${known.join(", ")}`;
  throw new CommandFailure(`no profile is named ${name}`, exitCodes.usage, advice);
}

/** Replaces the file in one step, so that a crash leaves either the old profiles or the new ones. */
export async function writeProfiles(profiles: Profiles, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: folderMode });
  const next = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    await using file = await open(next, "wx", fileMode);
    await file.writeFile(`${JSON.stringify(profiles, null, 2)}\n`);
    await file.sync();
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw new CommandFailure(`cannot write the profiles: ${(error as Error).message}`, exitCodes.usage);
  }
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CommandFailure(`cannot read the profiles: ${(error as Error).message}`, exitCodes.usage);
  }
}

function parseProfiles(text: string): Profiles | undefined {
  try {
    const file = JSON.parse(text) as Partial<Profiles>;
    const isComplete = Object.values(file.profiles ?? {}).every((profile) =>
      [profile.url, profile.key, profile.secret].every((value) => typeof value === "string"),
    );
    return file.profiles && isComplete ? (file as Profiles) : undefined;
  } catch {
    return undefined;
  }
}
