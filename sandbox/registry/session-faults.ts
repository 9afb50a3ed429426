import type { ParsedFrame } from "./command.ts";
import type { Registry, SessionState } from "./registry.ts";
import { Refusal } from "./result-codes.ts";

/** Refuses a command, or forgets the session's login before it, as the faults in force say. A hello is no command. */
export function applySessionFaults(registry: Registry, session: SessionState, frame: ParsedFrame): void {
  const { commandsMax, uniqueClTRIDs } = registry.faults.current;
  const answer = registry.faults.maintenanceAnswer(registry.now());
  if (answer !== undefined && answer !== "reset") throw new Refusal(answer, "maintenance");
  if (frame.kind !== "command") return;
  session.commands += 1;
  if (commandsMax !== null && session.commands > commandsMax) throw new Refusal(2500, "no more commands here");
  const { registrar } = session;
  if (!registrar) return;
  if (uniqueClTRIDs && frame.clTRID && registry.store.journal.knowsClTRID(registrar, frame.clTRID)) {
    throw new Refusal(2306, "clTRID already used");
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
