import { Argument, type Command, InvalidArgumentError } from "commander";
import { createClient } from "../sdk/client.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { printFields, printJson, printTable } from "./output.ts";
import { getProfile, readProfiles, writeProfiles } from "./profiles.ts";
import { obtainSecret } from "./secret.ts";
import { profilesPath } from "./settings.ts";

interface AddOptions {
  url: string;
  key: string;
  secretFile?: string;
  replace?: boolean;
}

export function addProfileCommands(program: Command): void {
  const profile = program
    .command("profile")
    .description("credentials under a name, in a file that only you can read")
    .addHelpText(
      "after",
      "\nCommands use the profile that --profile or DEEDHOUSE_PROFILE names; without either, DEEDHOUSE_URL," +
        "\nDEEDHOUSE_API_KEY and DEEDHOUSE_API_SECRET; without those, the default profile." +
        `\n\nThe file is ${profilesPath()}; DEEDHOUSE_PROFILES names another one.`,
    );
  profile
    .command("add")
    .addArgument(nameArgument())
    .description("keep a service's URL and a key; the first profile becomes the default")
    .requiredOption("--url <url>", "the API's URL")
    .requiredOption("--key <key>", "API key")
    .option("--secret-file <file>", "file with the API secret; without it, the secret is asked for or read from stdin")
    .option("--replace", "replace the profile that has this name")
    .addHelpText(
      "after",
      "\nExample:\n  deedhouse profile add live --url https://api.example.com --key 0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    )
    .action(guarded(addProfile));
  profile
    .command("list")
    .description("list the profiles, without their secrets")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  deedhouse profile list")
    .action(guarded(listProfiles));
  profile
    .command("use")
    .addArgument(nameArgument())
    .description("make a profile the default")
    .addHelpText("after", "\nExample:\n  deedhouse profile use live")
    .action(guarded(useProfile));
  profile
    .command("remove")
    .addArgument(nameArgument())
    .description("remove a profile; the key stays valid at the service")
    .addHelpText("after", "\nExample:\n  deedhouse profile remove live")
    .action(guarded(removeProfile));
}

const nameArgument = () => new Argument("<name>", "letters, digits, dot, dash or underscore").argParser(parseName);

function parseName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError("Give 1 to 64 letters, digits, dots, dashes or underscores.");
  }
  return text;
}

async function addProfile(name: string, { url, key, secretFile, replace }: AddOptions): Promise<void> {
  const stored = await readProfiles(profilesPath());
  if (Object.hasOwn(stored.profiles, name) && !replace) {
    const advice = "Add --replace, or choose another name.";
    throw new CommandFailure(`there is a profile named ${name}`, exitCodes.refused, advice);
  }
  const secret = await obtainSecret(secretFile, name);
  try {
    createClient({ url, apiKey: key, apiSecret: secret });
  } catch (error) {
    throw new CommandFailure((error as Error).message, exitCodes.usage);
  }
  const profiles = { ...stored.profiles, [name]: { url, key, secret } };
  await writeProfiles({ default: stored.default ?? name, profiles }, profilesPath());
  printFields({ profile: name, file: profilesPath(), check: `deedhouse doctor --profile ${name}` });
}

async function listProfiles({ json }: { json?: boolean }): Promise<void> {
  const { default: standard, profiles } = await readProfiles(profilesPath());
  const rows = Object.entries(profiles).map(([name, { url, key }]) => ({
    profile: name,
    url,
    key,
    default: name === standard,
  }));
  if (json) printJson(rows);
  else printTable(rows, ["profile", "url", "key", "default"]);
}

async function useProfile(name: string): Promise<void> {
  const stored = await readProfiles(profilesPath());
  getProfile(stored, name);
  await writeProfiles({ ...stored, default: name }, profilesPath());
  printFields({ profile: name, default: true });
}

async function removeProfile(name: string): Promise<void> {
  const stored = await readProfiles(profilesPath());
  getProfile(stored, name);
  const { [name]: _removed, ...profiles } = stored.profiles;
  const isDefault = stored.default === name;
  await writeProfiles({ ...(!isDefault && stored.default && { default: stored.default }), profiles }, profilesPath());
  printFields({ profile: name, status: "removed" });
}
