/**
 * A plan is a list of steps. Each step checks the server and describes the change that it needs. The dry run, the real run, and
 * the second run that does nothing all use the same check.
 */

export interface Change {
  /** One line, such as "write /etc/deedhouse/nginx.conf". */
  summary: string;
  /** Details: a file's difference, a command's arguments. Never a secret. */
  detail?: string;
  /** @throws Error that says what to do */
  apply(): Promise<void>;
}

export interface Step {
  /** Checks without changing anything. @returns the change that is needed; undefined when there is none */
  look(): Promise<Change | undefined>;
}

/** The changes that are needed now. Changes that depend on earlier ones are described as far as known. */
export async function pendingChanges(plan: readonly Step[]): Promise<Change[]> {
  const changes: Change[] = [];
  for (const step of plan) {
    const change = await step.look();
    if (change) changes.push(change);
  }
  return changes;
}

/**
 * Applies all changes, in order. Each step checks again first, because earlier ones may have changed what it finds.
 * @param report receives each change's summary before it is applied
 * @returns the number of changes
 */
export async function carryOut(plan: readonly Step[], report: (summary: string) => void): Promise<number> {
  let made = 0;
  for (const step of plan) {
    const change = await step.look();
    if (!change) continue;
    report(change.summary);
    await change.apply();
    made += 1;
  }
  return made;
}
