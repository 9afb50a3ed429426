/** Takes a registry's certification test (operational test and evaluation) with the gateway's EPP client. */
import { type Command, Option } from "commander";
import {
  namesInList,
  type OteOptions,
  oteContactField,
  oteExpectation,
  oteLabel,
  outsideHosts,
  portNumber,
  testAddresses,
  testName,
} from "#operator/ote/options.ts";
import { createOteOutput } from "#operator/ote/output.ts";
import { readWalkPlan } from "#operator/ote/plan.ts";
import { registriesOption } from "#operator/registries/profiles-file.ts";
import type { WalkPlan } from "#ote/plan.ts";
import { ask } from "../../../client/cli/confirm.ts";
import { CommandFailure, exitCodes, guarded } from "../../../client/cli/failures.ts";
import { note, printJson, printTable } from "../../../client/cli/output.ts";

export function addOteCommand(program: Command): void {
  const command = program
    .command("ote <registry>")
    .description("take a registry's certification test and print every frame (operator)")
    .option("--data <dir>", "the data folder of deedhouse start", "data")
    .addOption(registriesOption())
    .option("--host <host>", "the registry's test system, if it is not the profile's host")
    .option("--port <n>", "its port", portNumber)
    .option("--list", "print the steps, and which of them apply to this registry, without a login")
    .option("--dry-run", "print the frames that would be sent, without a connection")
    .option("--yes", "do not ask for confirmation");
  addStepOptions(command);
  addNameOptions(command);
  command
    .option("--second-registrar <id>", "a second account, for transfers; its password is read from standard input")
    .option("--change-password", "change the password at login, and back again")
    .option("--keep", "keep the test's objects at the end")
    .option("--out <dir>", "write every frame, and transcript.md, into a new folder")
    .option("--secrets", "show passwords and authInfo, and the frames exactly as sent")
    .option("--json", "print JSON")
    .addHelpText("after", help)
    .action(guarded(runOte));
}

function addStepOptions(command: Command): void {
  command
    .option("--only <steps>", "these steps and those that they build on, as a,b", namesInList)
    .option("--skip <steps>", "all steps but these", namesInList)
    .option("--from <step>", "this step, all later ones, and those that they build on")
    .option(
      "--expect <step=code>",
      "other result codes that are correct here: domain-renew-again=2304,2105; can be repeated",
      oteExpectation,
    );
}

/** From the ranges for documentation: RFC 5737, RFC 3849. */
const testAddressesDefault = "192.0.2.53,2001:db8::53";

function addNameOptions(command: Command): void {
  command
    .option("--label <prefix>", "the prefix of all names; default: dh-ote- and six random characters", oteLabel)
    .option("--suffix <suffix>", "the suffix of the names; default: the profile's first suffix")
    .option("--name-servers <hosts>", "two hosts outside of the registry, as a,b", outsideHosts)
    .addOption(
      new Option("--addresses <addresses>", "two addresses of a host below our name, as a,b")
        .argParser(testAddresses)
        .default(testAddresses(testAddressesDefault), testAddressesDefault),
    )
    .option("--key-data", "secure names with keys instead of DS records (RFC 5910 §4)")
    .option(
      "--contact-field <name=value>",
      "a value for a field of contacts that the profile lists (contactFields); can be repeated",
      oteContactField,
    )
    .option("--other-name <name>", "a name of another registrar, for commands that must be refused", testName)
    .option("--restore-name <name>", "a name of ours in redemption, to restore", testName);
}

const help = `
It registers, renews, changes and deletes names: run it at a registry's test system, because elsewhere that costs money.
It removes the created objects at the end, also after a failure or Ctrl-C. docs/ote.md explains the steps.

Exit codes: 0 success, 1 a step failed or the run was interrupted, 2 wrong usage

Examples:
  deedhouse ote nic --dry-run
  deedhouse ote nic --host ote.nic.example --out certification
  deedhouse ote nic --second-registrar registrar-2 --yes < second-password.txt`;

/** They change nothing, so they need no confirmation. */
const sessionSteps: ReadonlySet<string> = new Set(["login", "hello", "logout"]);

async function runOte(registry: string, options: OteOptions): Promise<void> {
  const plan = await readWalkPlan(registry, options);
  if (options.list) return listSteps(plan, options);
  const isRisky = [...plan.chosen].some((id) => !sessionSteps.has(id));
  if (isRisky && !options.dryRun) await confirm(plan, options);
  const output = createOteOutput(plan, options);
  if (options.dryRun) {
    const { rehearse } = await import("#ote/rehearse.ts");
    const results = await rehearse(plan);
    for (const result of results) output.step(result);
    output.end({ results, leftovers: [], goesLater: [], wasInterrupted: false });
    return;
  }
  const { walk } = await import("#ote/walk.ts");
  using interruption = listenForInterruption();
  const report = await walk({
    ...plan,
    signal: interruption.signal,
    onResult: (result) => interruption.unlessFails(() => output.step(result)),
  });
  output.end(report);
  const advice = plan.passwordChange?.findAdvice();
  if (advice) note(advice);
  const failed = report.results.some(({ outcome }) => outcome === "failed");
  if (failed || report.wasInterrupted) process.exitCode = exitCodes.unexpected;
}

async function listSteps(plan: WalkPlan, { json }: OteOptions): Promise<void> {
  const [{ steps }, { needsText, whyNotHere }, { readGreeting }, { systemClock }] = await Promise.all([
    import("#ote/steps.ts"),
    import("#ote/plan.ts"),
    import("#registry/read-greeting.ts"),
    import("#lib/clock.ts"),
  ]);
  const greeting = await readGreeting(plan.profile, systemClock).catch((error: Error) => {
    note(`${error.message}\nIts extensions are not known.`);
  });
  const rows = steps.map((step) => {
    const extensionURI = greeting ? undefined : step.needs?.extensionURI;
    const here =
      whyNotHere(step, plan, greeting?.extensionURIs) ??
      (extensionURI === undefined ? "yes" : `if the registry offers ${needsText({ needs: { extensionURI } })}`);
    const chosen = plan.chosen.has(step.id);
    return { step: step.id, title: step.title, rfc: step.rfc, here: here === "yes" && !chosen ? "not chosen" : here };
  });
  if (json) printJson(rows);
  else printTable(rows, ["step", "title", "rfc", "here"]);
}

/**
 * Says where the test runs and what it does, and asks for confirmation. @throws CommandFailure without a terminal to confirm
 * on, or when the answer is no
 */
async function confirm(plan: WalkPlan, { yes, keep }: OteOptions): Promise<void> {
  const { profile, secondProfile, label, suffix } = plan;
  const second = secondProfile ? ` and ${secondProfile.registrarId}` : "";
  const lines = [
    `host       ${profile.host}:${profile.port}`,
    `registrar  ${profile.registrarId}${second}`,
    `names      ${label}.${suffix}, ${label}-2.${suffix}`,
    "",
    "It registers, renews, changes and deletes names there, at the registry's prices, and acknowledges every",
    `message in the poll queue. ${keep ? "Its objects are kept at the end." : "Its objects are removed at the end."}`,
  ];
  note(lines.join("\n"));
  if (yes) return;
  if ((await ask('Type "yes" to continue: ')) !== "yes") throw new CommandFailure("nothing was done", exitCodes.usage);
}

interface Interruption extends Disposable {
  signal: AbortSignal;
  /** Ends the walk when the work fails: even when nothing can be printed, created objects are removed. */
  unlessFails(work: () => void): void;
}

const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function listenForInterruption(): Interruption {
  const controller = new AbortController();
  const stop = (reason: string) => {
    if (controller.signal.aborted) return;
    note(`\n${reason}: removing the test's objects. Ctrl-C leaves them.`);
    stopListening();
    controller.abort();
  };
  const interrupt = () => stop("Interrupted");
  const stopListening = () => {
    for (const signal of endingSignals) process.off(signal, interrupt);
  };
  for (const signal of endingSignals) process.on(signal, interrupt);
  // In other commands a closed reader (`| head`) ends the tool at once; here that would leave names behind.
  process.stdout.removeAllListeners("error").on("error", () => stop("Nobody reads the output"));
  process.stderr.on("error", () => stop("Nobody reads the output"));
  return {
    signal: controller.signal,
    unlessFails(work) {
      try {
        work();
      } catch (error) {
        stop((error as Error).message);
      }
    },
    [Symbol.dispose]: stopListening,
  };
}
