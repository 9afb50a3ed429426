import { addMs } from "../clock.ts";
import type { ScheduledAction } from "../objects.ts";
import type { CommandContext } from "../registry.ts";

/** What happens to the name later, as the label or the fault of the command says. */
export function scheduledAction({ registry, effect, clTRID, svTRID }: CommandContext): ScheduledAction | undefined {
  if (!effect.scheduled) return undefined;
  const { pendingDelayMs, undoDelayMs } = registry.settings;
  const delayMs = effect.scheduled === "undo" ? undoDelayMs : pendingDelayMs;
  return { action: effect.scheduled, dueAt: addMs(registry.now(), delayMs).toISOString(), clTRID, svTRID };
}
