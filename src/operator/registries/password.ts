/** Changes our password at a registry, there and in the file of profiles. */
import { dirname, join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import type { Command } from "commander";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { commandGroup, type OperatorOptions, operatorCommand } from "#operator/command.ts";
import { readProfiles, registriesOption } from "#operator/registries/profiles-file.ts";
import type { PasswordChange, PasswordChangeOptions } from "#registry/epp/change-password.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { CommandFailure, exitCodes, guarded } from "../../../client/cli/failures.ts";
import { printFields, printJson } from "../../../client/cli/output.ts";

interface PasswordOptions extends OperatorOptions {
  registries?: string;
  generate?: boolean;
}

/** RFC 5730 §4.1 (pwType), and RFC 8807 where the registry offers loginSec. White space would be folded in transit. */
const allowedPassword = /^[\x21-\x7e]{6,128}$/;
const plainPasswordCharsMax = 16;
/** Registries require letters of both cases and digits; 12 bytes are 16 characters. */
const generatedBytes = 12;
const generatedPassword = /^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9_-]+$/;

export function addRegistryPasswordCommand(program: Command): void {
  const registry = commandGroup(program, "registry", "the registries");
  operatorCommand(registry, "password <id>", "change our password at a registry")
    .addOption(registriesOption())
    .option("--generate", "generate a password of 16 characters instead of reading one from standard input")
    .addHelpText(
      "after",
      "\nThe password is changed at the registry and then in the file of profiles. If the change was interrupted, the" +
        "\nsame command completes it. Restart the worker afterwards." +
        "\n\nExamples:\n  deedhouse registry password nic --generate\n  deedhouse registry password nic < new-password.txt",
    )
    .action(
      guarded(async (id: string, options: PasswordOptions) => {
        const outcome = await changeRegistryPassword(id, options);
        if (options.json) printJson(outcome);
        else printFields(outcome);
      }),
    );
}

/** A registry, and the files with its password. */
interface Account {
  profile: RegistryProfile;
  /** Files, and the ids in them that have the password; the file of profiles comes last. */
  places: { file: string; id: string }[];
}

async function changeRegistryPassword(id: string, options: PasswordOptions): Promise<Record<string, string>> {
  const [{ systemRandom }, { changePassword, findPassword }, files] = await Promise.all([
    import("#lib/random.ts"),
    import("#registry/epp/change-password.ts"),
    import("#registry/password-file.ts"),
  ]);
  const account = await findAccount(id, options);
  const { profile, places } = account;
  const profiles = places.at(-1)!;
  const eppOptions = await eppOptionsFor(profile);

  const draft = files.findDraftPassword(profiles.file, id);
  // A draft that the file already contains is left over from a completed change.
  const interrupted = draft?.reveal() === profile.password.reveal() ? undefined : draft;
  const wanted = interrupted ?? (await newPassword(account, options, systemRandom));
  for (const place of places) files.writeDraft(place.file, place.id, wanted);
  const change = await (interrupted ? findPassword : changePassword)(eppOptions, wanted);
  if (change.result === "unknown") throw unknownFailure(account, change);
  for (const place of places) {
    if (change.result === "changed") files.adoptDraft(place.file);
    else files.dropDraft(place.file);
  }
  if (change.result === "unchanged") throw unchangedFailure(profile, change, interrupted !== undefined);
  const restart = "restart the worker (or deedhouse start): until then it logs in with the old password";
  const password = interrupted ? "changed, completing an earlier run; no password was read" : "changed";
  return { registry: id, password, file: places.map(({ file }) => file).join(", "), next: restart };
}

/** @throws CommandFailure that says what to do */
async function findAccount(id: string, options: PasswordOptions): Promise<Account> {
  const { findPasswordIn } = await import("#registry/password-file.ts");
  const { file, profiles } = await readProfiles(options);
  const profile = profiles.find((candidate) => candidate.id === id);
  if (!profile) throw new CommandFailure(`${file} has no registry ${id}`, exitCodes.notFound);
  try {
    // deedhouse start writes its profile at each start, with the password of the account at its built-in registry.
    const accounts = join(dirname(file), "registrars.json");
    const own = findPasswordIn(accounts, profile.registrarId);
    const isBuiltIn = own?.reveal() === profile.password.reveal();
    return { profile, places: [...(isBuiltIn ? [{ file: accounts, id: profile.registrarId }] : []), { file, id }] };
  } catch (error) {
    throw new CommandFailure((error as Error).message, exitCodes.usage);
  }
}

async function eppOptionsFor(profile: RegistryProfile): Promise<PasswordChangeOptions> {
  const [{ eppOptionsOf }, { systemClock }, { systemRandom }] = await Promise.all([
    import("#registry/epp-options.ts"),
    import("#lib/clock.ts"),
    import("#lib/random.ts"),
  ]);
  return { ...eppOptionsOf(profile), settleMs: profile.settleMs, clock: systemClock, random: systemRandom };
}

/** @throws CommandFailure that says what to do */
async function newPassword(account: Account, { generate }: PasswordOptions, random: Random): Promise<Secret> {
  if (generate) return generatePassword(random);
  if (process.stdin.isTTY) {
    const advice = "Use deedhouse registry password ID < FILE, or --generate.";
    throw new CommandFailure("the new password is read from standard input", exitCodes.usage, advice);
  }
  const password = (await readAll(process.stdin)).replace(/\r?\n$/, "");
  if (!allowedPassword.test(password)) {
    const rule = "6 to 16 characters, or to 128 where the registry offers loginSec: ASCII without spaces";
    throw new CommandFailure(`the new password cannot be used: it must have ${rule}`, exitCodes.usage);
  }
  if (account.places.length > 1 && password.length > plainPasswordCharsMax) {
    throw new CommandFailure("the built-in registry's passwords have at most 16 characters", exitCodes.usage);
  }
  if (password === account.profile.password.reveal()) {
    throw new CommandFailure("the new password is the same as the old one", exitCodes.usage);
  }
  return new Secret(password);
}

function generatePassword(random: Random): Secret {
  for (;;) {
    const password = random.bytes(generatedBytes).toString("base64url");
    if (generatedPassword.test(password)) return new Secret(password);
  }
}

function unchangedFailure({ id }: RegistryProfile, { reason }: PasswordChange, isResumed: boolean): CommandFailure {
  const reported = isResumed ? `the earlier change did not take effect at ${id}` : `${id} did not change the password`;
  const advice =
    "The old password is still in effect, and no file was changed. Run the command again once the reason is gone.";
  return new CommandFailure(`${reported}: ${reason}`, exitCodes.refused, advice);
}

function unknownFailure({ profile, places }: Account, { reason }: PasswordChange): CommandFailure {
  const drafts = places.map(({ file }) => `${file}.new-password`).join(" and ");
  const advice = `Both are kept, the new one in ${drafts}. Run the command again to find out; to be safe, stop the worker until then.`;
  return new CommandFailure(
    `it is not known whether ${profile.id} changed the password: ${reason}`,
    exitCodes.unavailable,
    advice,
  );
}
