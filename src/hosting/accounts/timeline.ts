/** Describes an account's events, and what happens next. */
import type { HostingEvent, HostingStatus, RequestedChange } from "#hosting/accounts/states.ts";

/** For the account's owner, so without nodes and without operators' reasons. */
const eventsInWords: Record<"requested" | HostingEvent | RequestedChange, string> = {
  requested: "the account was ordered",
  placed: "its server was chosen",
  doubtful: "its server has not applied it yet",
  probed: "it works: a login, an upload and a page were tested",
  abandoned: "its creation was given up",
  refused: "it could not be created",
  applied: "the change is in effect",
  suspended: "it is suspended: nobody can log in, and the site answers 503",
  resumed: "it works again",
  removed: "login and site are removed",
  "password-wanted": "a new password was set",
  "ftp-wanted": "FTP was enabled or disabled",
  "pack-wanted": "the operator changed its service pack",
  "host-names-wanted": "its host names changed",
  "move-wanted": "a step of its move to another server was done",
  "suspend-wanted": "the operator requested its suspension",
  "resume-wanted": "the operator requested its resumption",
  "removal-wanted": "its deletion was requested",
};

export function eventInWords(event: string): string {
  return eventsInWords[event as keyof typeof eventsInWords] ?? event;
}

interface CurrentState {
  status: HostingStatus;
  node_id: string | null;
  error_text: string | null;
  suspended_at: Date | null;
  removal_requested_at: Date | null;
  changes_pending: boolean;
  next_step_at: Date | null;
}

/** @param reason why the last attempt failed */
export function nextInWords(account: CurrentState, reason: string): string {
  if (!account.changes_pending) return settledInWords[account.status];
  const step = stepInWords(account);
  if (account.next_step_at === null) return `now: ${step}`;
  return `at ${account.next_step_at.toISOString()}: ${step} (retry: ${reason})`;
}

const settledInWords: Record<HostingStatus, string> = {
  Provisioning: "nothing",
  Ready: "nothing: it works",
  Suspended: "nothing, until the operator resumes it",
  Failed: "nothing: the identifier is free for a new account",
  Removed: "nothing: it is removed",
};

function stepInWords({ status, node_id, error_text, suspended_at, removal_requested_at }: CurrentState): string {
  if (removal_requested_at) return "login and site are removed";
  if (error_text !== null) return "what was created is removed";
  if (status === "Provisioning") return node_id === null ? "its server is chosen" : "it is created and tested";
  if (status === "Ready" && suspended_at) return "it is suspended";
  if (status === "Suspended" && !suspended_at) return "it is resumed and tested";
  return "the change is applied on its server";
}
