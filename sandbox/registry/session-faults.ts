import type { ParsedFrame } from "./command.ts";
import type { Registry, SessionState } from "./registry.ts";
import { Refusal } from "./result-codes.ts";

/** Applies the current faults to a command: refuses it, or first forgets the session's login. A hello is not a command. */
export function applySessionFaults(registry: Registry, session: SessionState, frame: ParsedFrame): void {
  const { commandsMax, uniqueClTRIDs } = registry.faults.current;
  const answer = registry.faults.maintenanceAnswer(registry.now());
  if (answer !== undefined && answer !== "reset") throw new Refusal(answer, "maintenance");
  if (frame.kind !== "command") return;
  session.commands += 1;
  if (commandsMax !== null && session.commands > commandsMax)
    throw new Refusal(2500, "too many commands on this connection");
  const { registrar } = session;
  if (!registrar) return;
  if (uniqueClTRIDs && frame.clTRID && registry.store.journal.knowsClTRID(registrar, frame.clTRID)) {
    throw new Refusal(2306, "the clTRID was used before");
  }
  if (isLoginForgotten(registry, session)) {
    session.registrar = undefined;
    session.forgottenCode = registry.faults.current.logout!.code;
  }
  session.commandsSinceLogin += 1;
}

function isLoginForgotten({ faults, now }: Registry, { loggedInAt, commandsSinceLogin }: SessionState): boolean {
  const { logout } = faults.current;
  if (!logout || !loggedInAt) return false;
  const { afterCommands, afterMs } = logout;
  if (afterCommands !== undefined && commandsSinceLogin >= afterCommands) return true;
  return afterMs !== undefined && now().getTime() - loggedInAt.getTime() >= afterMs;
}
