/** Has a registry that was away tried again now. */
import type { Command } from "commander";
import { reportRegistry } from "#domains/registry/report.ts";
import { askProbe, findProbeAnswer } from "#jobs/registry-probe.ts";
import { commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { unknownRegistry } from "#operator/registries/registries.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

export function addRegistryProbeCommand(program: Command): void {
  const registry = commandGroup(program, "registry", "the registries");
  const probe = operatorCommand(
    registry,
    "probe <id>",
    "log in now at a registry that was away, and say what came of it",
  ).addHelpText(
    "after",
    "\nA registry that stays away is tried again by itself, with delays of up to ten minutes. When it is back, its circuit" +
      "\ncloses and orders that wait go on at once. Where the circuit is closed there is nothing to do. A registry that" +
      "\nrefuses our login may lock the account when it is tried too often." +
      "\n\nExample:\n  deedhouse registry probe sandbox",
  );
  addTimeoutOption(probe, "for the login").action(
    onDatabase((context, id: string, { timeout }: { timeout: number }) => probeRegistry(context, id, timeout)),
  );
}

/** @throws CommandFailure when the registry is still away, or nobody can say so; OperatorError when it is not known */
async function probeRegistry(context: OpenOperatorContext, id: string, timeoutSeconds: number) {
  const registry = await reportRegistry(context, id);
  if (!registry) throw unknownRegistry(id);
  if (registry.owner !== "alive") {
    const advice = "Start deedhouse worker, or deedhouse start: it logs in by itself.";
    throw new CommandFailure(`no worker runs that could log in at ${id}`, exitCodes.unavailable, advice);
  }
  const probeId = await askProbe(context, id);
  const answer = await waitFor(context, timeoutSeconds, () => findProbeAnswer(context, id, probeId));
  if (!answer) {
    const advice = `See whether it worked: deedhouse registry show ${id}`;
    throw new CommandFailure(`the worker has not answered in ${timeoutSeconds} s`, exitCodes.stillGoing, advice);
  }
  if (answer.probe_failure === null) return { registry: id, circuit: "closed" };
  const advice = `It is tried again by itself; see when: deedhouse registry show ${id}`;
  throw new CommandFailure(`${id} is still away: ${answer.probe_failure}`, exitCodes.unavailable, advice);
}
