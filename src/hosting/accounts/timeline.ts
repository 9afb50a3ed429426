/** What happened to an account and what happens next, in words. */
import type { HostingEvent, HostingWish } from "#hosting/accounts/states.ts";

/** For the account's owner: nothing in here tells of nodes, or of an operator's reasons. */
const eventsInWords: Record<"requested" | HostingEvent | HostingWish, string> = {
  requested: "the account was ordered",
  placed: "its server was chosen",
  doubtful: "its server did not do it yet",
  probed: "it works: a login, an upload and a page were tried",
  abandoned: "it was given up",
  refused: "it could not be created",
  applied: "the change is in force",
  suspended: "it is suspended: nobody can log in, and the site answers 503",
  resumed: "it works again",
  removed: "login and site are gone",
  "password-wanted": "another password was set",
  "pack-wanted": "the operator gave it another service pack",
  "host-names-wanted": "its host names were changed",
  "move-wanted": "a step of its move to another server was done",
  "suspend-wanted": "the operator wanted it suspended",
  "resume-wanted": "the operator wanted it resumed",
  "removal-wanted": "it was to be deleted",
};

export function eventInWords(event: string): string {
  return eventsInWords[event as keyof typeof eventsInWords] ?? event;
}

export interface Standing {
  status: string;
  node_id: string | null;
  error_text: string | null;
  suspended_at: Date | null;
  removal_requested_at: Date | null;
  changes_pending: boolean;
  next_step_at: Date | null;
}

/** @param reason why it is still to be done: the end of a sentence that begins with "because" */
export function nextInWords(account: Standing, reason: string): string {
  if (!account.changes_pending) return restsInWords[account.status] ?? "nothing";
  const step = stepInWords(account);
  if (account.next_step_at === null) return `now: ${step}`;
  return `at ${account.next_step_at.toISOString()}: ${step}, once more, because ${reason}`;
}

const restsInWords: Record<string, string> = {
  Ready: "nothing: it works",
  Suspended: "nothing, until the operator resumes it",
  Failed: "nothing: the identifier is free for a new account",
  Removed: "nothing: it is gone",
};

function stepInWords({ status, node_id, error_text, suspended_at, removal_requested_at }: Standing): string {
  if (removal_requested_at) return "login and site are taken away";
  if (error_text !== null) return "what was made is removed";
  if (status === "Provisioning") return node_id === null ? "its server is chosen" : "it is made and tried out";
  if (status === "Ready" && suspended_at) return "it is suspended";
  if (status === "Suspended" && !suspended_at) return "it is resumed and tried out";
  return "the change is brought to its server";
}
