/** The file that describes the registries, for commands that work on it and not on the database. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Option } from "commander";
import { operatorEnvironment } from "#config.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

export function registriesOption(): Option {
  const description = "the file of profiles; default: DEEDHOUSE_REGISTRIES_FILE, or the data folder's";
  return new Option("--registries <file>", description);
}

/** @throws CommandFailure that says what to do */
export async function readProfiles(options: {
  registries?: string;
  data: string;
}): Promise<{ file: string; profiles: RegistryProfile[] }> {
  const { loadRegistries } = await import("#registry/registries.ts");
  const given = options.registries ?? operatorEnvironment().registriesFile;
  const file = resolve(given ?? join(options.data, "keys", "registries.json"));
  if (!existsSync(file)) {
    const advice =
      "Name the file of profiles with --registries FILE, or the folder of deedhouse start with --data DIR.";
    throw new CommandFailure(`there is no file of profiles ${file}`, exitCodes.usage, advice);
  }
  try {
    return { file, profiles: loadRegistries(file) };
  } catch (error) {
    throw new CommandFailure((error as Error).message, exitCodes.usage);
  }
}
