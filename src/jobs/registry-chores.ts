/** What a registry's owner does periodically, besides the steps of orders. */

import { compareNames } from "#domains/compare/compare-names.ts";
import { lookAgain } from "#domains/compare/look-again.ts";
import { deleteUnusedContacts } from "#domains/contacts/delete-unused.ts";
import { replaceSpentCodes } from "#domains/kinds/auth-code/replace.ts";
import { drainPollQueue, isMessageAwaited } from "#domains/messages/poll.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { sweepRenewals } from "#domains/schedule/sweep.ts";
import { watchForAbsence } from "#jobs/registry-absence.ts";
import { sleep } from "#lib/clock.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** While no order waits for a message, the message queue is read this many times less often. */
const idlePollFactor = 10;

const certificateCheckMs = 3_600_000;

interface Chore {
  name: string;
  intervalMs(profile: RegistryProfile): number;
  /** @param round 0 at the owner's start, then 1, 2, … */
  run(sessions: RegistrySessions, round: number, ended: AbortSignal): Promise<void>;
}

const chores: Chore[] = [
  { name: "read the message queue", intervalMs: (profile) => profile.pollIntervalMs, run: readMessages },
  { name: "sweep renewals", intervalMs: (profile) => profile.renewalIntervalMs, run: sweepRenewals },
  { name: "replace spent auth codes", intervalMs: (profile) => profile.renewalIntervalMs, run: replaceSpentCodes },
  { name: "look again at names", intervalMs: (profile) => profile.renewalIntervalMs, run: lookAgain },
  { name: "compare names", intervalMs: (profile) => profile.renewalIntervalMs, run: compareNames },
  { name: "delete unused contacts", intervalMs: (profile) => profile.renewalIntervalMs, run: deleteUnusedContacts },
];

/** Runs each chore at once and then at its interval, until `ended`. A chore that fails runs again at its next turn. */
export async function doChores(
  sessions: RegistrySessions,
  checkLogins: () => Promise<void>,
  ended: AbortSignal,
): Promise<void> {
  const { context, profile } = sessions;
  const repeat = async ({ name, intervalMs, run }: Chore) => {
    for (let round = 0; !ended.aborted; round++) {
      await run(sessions, round, ended).catch((error: unknown) =>
        context.log.debug({ err: error, registry: profile.id, chore: name }, "a chore of the registry's owner failed"),
      );
      await sleep(intervalMs(profile), ended);
    }
  };
  const watches: Chore[] = [
    { name: "watch for an outage", intervalMs: (profile) => profile.pollIntervalMs, run: watchForAbsence },
    { name: "check our certificate", intervalMs: () => certificateCheckMs, run: checkLogins },
  ];
  await Promise.all([...chores, ...watches].map(repeat));
}

async function readMessages(sessions: RegistrySessions, round: number): Promise<void> {
  if (round % idlePollFactor === 0 || (await isMessageAwaited(sessions))) await drainPollQueue(sessions);
}
