/** Probes a registry that was away, now. */
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
    "log in now at a registry that was away, and report the result",
  ).addHelpText(
    "after",
    "\nA registry that stays away is probed automatically, with delays of up to ten minutes. When it is back, its circuit" +
      "\ncloses and waiting orders continue at once. If the circuit is closed, there is nothing to do. A registry that" +
      "\nrefuses our login may lock the account after too many attempts." +
      "\n\nExample:\n  deedhouse registry probe sandbox",
  );
  addTimeoutOption(probe, "for the login").action(
    onDatabase((context, id: string, { timeout }: { timeout: number }) => probeRegistry(context, id, timeout)),
  );
}

/**
 * @throws CommandFailure when the registry is still away or its state cannot be determined; OperatorError when it is unknown
 */
async function probeRegistry(context: OpenOperatorContext, id: string, timeoutSeconds: number) {
  const registry = await reportRegistry(context, id);
  if (!registry) throw unknownRegistry(id);
  if (registry.owner !== "alive") {
    const advice = "Start deedhouse worker or deedhouse start: it logs in automatically.";
    throw new CommandFailure(`no worker is running that could log in at ${id}`, exitCodes.unavailable, advice);
  }
  const probeId = await askProbe(context, id);
  const answer = await waitFor(context, timeoutSeconds, () => findProbeAnswer(context, id, probeId));
  if (!answer) {
    const advice = `To see the result: deedhouse registry show ${id}`;
    throw new CommandFailure(`the worker has not answered in ${timeoutSeconds} s`, exitCodes.stillGoing, advice);
  }
  if (answer.probe_failure === null) return { registry: id, circuit: "closed" };
  const advice = `It is probed again automatically. To see when: deedhouse registry show ${id}`;
  throw new CommandFailure(`${id} is still away: ${answer.probe_failure}`, exitCodes.unavailable, advice);
}
