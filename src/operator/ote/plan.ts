/** The plan of a test, from the file of profiles and the options. */
import { text as readAll } from "node:stream/consumers";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { OteOptions } from "#operator/ote/options.ts";
import { readProfiles } from "#operator/registries/profiles-file.ts";
import type { PasswordChange, WalkPlan } from "#ote/plan.ts";
import { fitsField } from "#registry/contact-fields.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

const labelBytes = 3;

/** @throws CommandFailure that says what to do */
export async function readWalkPlan(registry: string, options: OteOptions): Promise<WalkPlan> {
  const { file, profiles } = await readProfiles(options);
  const found = profiles.find(({ id }) => id === registry);
  if (!found) {
    const ids = profiles.map(({ id }) => id).join(", ");
    throw new CommandFailure(`${file} has no registry ${registry}`, exitCodes.usage, `It has: ${ids}`);
  }
  const profile = atTestSystem(found, options);
  const { suffix = profile.suffixes[0]!, label = `dh-ote-${systemRandom.bytes(labelBytes).toString("hex")}` } = options;
  if (!profile.suffixes.includes(suffix)) {
    throw new CommandFailure(
      `${registry} does not sell ${suffix}`,
      exitCodes.usage,
      `It has: ${profile.suffixes.join(", ")}`,
    );
  }
  const chosen = await chooseSteps(options);
  return {
    profile,
    label,
    suffix,
    chosen,
    clock: systemClock,
    random: systemRandom,
    secondProfile: await findSecond(profile, profiles, options),
    expected: options.expect ?? new Map(),
    passwordChange: options.changePassword ? await preparePasswordChange(file, profile, options) : undefined,
    keeps: options.keep === true,
    revealsSecrets: options.secrets === true,
    addresses: options.addresses,
    outerHosts: options.nameServers,
    takesKeys: options.keyData === true || profile.secDns === "keys",
    contactFields: contactFieldsOf(profile, chosen, options),
    restoreName: options.restoreName,
    otherName: options.otherName,
  };
}

/** Values for the fields that only this registry knows of contacts. */
function contactFieldsOf(
  { contactFields }: RegistryProfile,
  chosen: ReadonlySet<string>,
  { contactField = new Map(), list }: OteOptions,
) {
  for (const [name, value] of contactField) {
    const field = contactFields.find((known) => known.name === name);
    if (!field) throw new CommandFailure(`the profile has no contact field ${name}`, exitCodes.usage);
    if (!fitsField(field, value)) {
      throw new CommandFailure(
        `--contact-field ${name}: the profile's pattern does not allow the value`,
        exitCodes.usage,
      );
    }
  }
  const missing = contactFields.find(({ name, required }) => required && !contactField.has(name));
  if (missing && !list && chosen.has("contact-create")) {
    const advice = `Give it with --contact-field ${missing.name}=VALUE.`;
    throw new CommandFailure(`contacts need the field ${missing.name} here`, exitCodes.usage, advice);
  }
  return [...contactField].map(([name, value]) => ({ name, value }));
}

/** A certificate carries the name of its host, unless the profile names another one. */
function atTestSystem(profile: RegistryProfile, { host = profile.host, port = profile.port }: OteOptions) {
  const servername = profile.servername === profile.host ? host : profile.servername;
  return { ...profile, host, port, servername };
}

async function chooseSteps({ only, skip, from, expect }: OteOptions): Promise<ReadonlySet<string>> {
  const { chosenIds, requireStep } = await import("#ote/plan.ts");
  try {
    for (const id of expect?.keys() ?? []) requireStep(id);
    return chosenIds({ only, skip, from });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandFailure(error.message, exitCodes.usage);
    throw error;
  }
}

/** The second account's password: from a profile that has the account, or from standard input. */
async function findSecond(
  profile: RegistryProfile,
  profiles: readonly RegistryProfile[],
  { secondRegistrar, list, dryRun }: OteOptions,
): Promise<RegistryProfile | undefined> {
  if (secondRegistrar === undefined) return undefined;
  if (secondRegistrar === profile.registrarId) {
    throw new CommandFailure("the second account must differ from the first", exitCodes.usage);
  }
  const own = profiles.find(({ registrarId }) => registrarId === secondRegistrar);
  if (own) return { ...profile, registrarId: own.registrarId, password: own.password, cert: own.cert, key: own.key };
  if (list || dryRun) return { ...profile, registrarId: secondRegistrar };
  if (process.stdin.isTTY) {
    const advice = "Give it there, with --yes: deedhouse ote … --second-registrar ID --yes < FILE.";
    throw new CommandFailure("the second account's password is read from standard input", exitCodes.usage, advice);
  }
  const password = (await readAll(process.stdin)).replace(/\r?\n$/, "");
  if (!/^[\x21-\x7e]{6,128}$/.test(password)) {
    throw new CommandFailure("standard input contains no password of 6 to 128 characters", exitCodes.usage);
  }
  return { ...profile, registrarId: secondRegistrar, password: new Secret(password) };
}

/**
 * While the other password may be in effect, it is stored next to the file of profiles. `deedhouse registry password` finds it
 * there and completes an interrupted change.
 */
async function preparePasswordChange(
  file: string,
  profile: RegistryProfile,
  { host, port, list, dryRun }: OteOptions,
): Promise<PasswordChange> {
  const { makePassword } = await import("#ote/memory.ts");
  const { dropDraft, findDraftPassword, writeDraft } = await import("#registry/password-file.ts");
  const password = makePassword(systemRandom);
  if (list || dryRun) return { password, begin: () => undefined, end: () => undefined, findAdvice: () => undefined };
  if (host !== undefined || port !== undefined) {
    const advice =
      "If the change failed halfway, nobody could complete it. Write a separate profile for the test system.";
    throw new CommandFailure(
      "the password can be changed only at the profile's host, not at --host",
      exitCodes.usage,
      advice,
    );
  }
  const advice = `Complete it with deedhouse registry password ${profile.id} --registries ${file}.`;
  if (findDraftPassword(file, profile.id)) {
    throw new CommandFailure("an earlier change of the password is not complete", exitCodes.usage, advice);
  }
  return {
    password,
    begin: () => writeDraft(file, profile.id, password),
    end: () => dropDraft(file),
    findAdvice: () => findDraftPassword(file, profile.id) && `The change of the password is not complete. ${advice}`,
  };
}
