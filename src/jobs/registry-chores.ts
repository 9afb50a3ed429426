/** What a registry's owner does again and again, beside the steps of orders. */
import { drainPollQueue, isMessageAwaited } from "#domains/registry/poll.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { sweepRenewals } from "#domains/renewals/sweep.ts";
import { watchForAbsence } from "#jobs/registry-absence.ts";
import { sleep } from "#lib/clock.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The message queue is read this many times less often while no order waits for a message. */
const idlePollFactor = 10;

const certificateCheckMs = 3_600_000;

interface Chore {
  name: string;
  intervalMs(profile: RegistryProfile): number;
  /** @param round counts from 0, at the owner's start */
  run(sessions: RegistrySessions, round: number): Promise<void>;
}

const chores: Chore[] = [
  { name: "read the message queue", intervalMs: (profile) => profile.pollIntervalMs, run: readMessages },
  { name: "sweep renewals", intervalMs: (profile) => profile.renewalIntervalMs, run: sweepRenewals },
];

/** Does them all, each at once and then in its interval, until `ended`; one that fails is tried again in its next turn. */
export async function doChores(
  sessions: RegistrySessions,
  checkLogins: () => Promise<void>,
  ended: AbortSignal,
): Promise<void> {
  const { context, profile } = sessions;
  const repeat = async ({ name, intervalMs, run }: Chore) => {
    for (let round = 0; !ended.aborted; round++) {
      await run(sessions, round).catch((error: unknown) =>
        context.log.debug({ err: error, registry: profile.id, chore: name }, "a chore of the registry's owner failed"),
      );
      await sleep(intervalMs(profile), ended);
    }
  };
  const itsOwn: Chore[] = [
    { name: "watch for its absence", intervalMs: (profile) => profile.pollIntervalMs, run: watchForAbsence },
    { name: "look at our certificate", intervalMs: () => certificateCheckMs, run: checkLogins },
  ];
  await Promise.all([...chores, ...itsOwn].map(repeat));
}

async function readMessages(sessions: RegistrySessions, round: number): Promise<void> {
  if (round % idlePollFactor === 0 || (await isMessageAwaited(sessions))) await drainPollQueue(sessions);
}
