/**
 * A plan: steps that each look whether something is so, and say what they would do about it. What is shown beforehand, what
 * is done, and that a second run does nothing all come from the same look.
 */

export interface Change {
  /** A line that says what is done: "write /etc/deedhouse/nginx.conf". */
  summary: string;
  /** More lines for who wants to know: a file's difference, a command's arguments. Never a secret. */
  detail?: string;
  /** @throws Error that says what to do */
  apply(): Promise<void>;
}

export interface Step {
  /** What has to be done so that it is so; nothing when it is. Changes nothing. */
  look(): Promise<Change | undefined>;
}

/** What is not so now. A change may bring about others: what is only there after it is described as far as it is known. */
export async function pendingChanges(plan: readonly Step[]): Promise<Change[]> {
  const changes: Change[] = [];
  for (const step of plan) {
    const change = await step.look();
    if (change) changes.push(change);
  }
  return changes;
}

/**
 * Makes everything so, in order; each step looks again first, because those before it may have changed what it finds.
 * @param tell gets each change's summary before it is made
 * @returns how many changes were made
 */
export async function carryOut(plan: readonly Step[], tell: (summary: string) => void): Promise<number> {
  let made = 0;
  for (const step of plan) {
    const change = await step.look();
    if (!change) continue;
    tell(change.summary);
    await change.apply();
    made += 1;
  }
  return made;
}
