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
  "reseller-suspend-wanted": "you requested its suspension",
  "reseller-resume-wanted": "you lifted your suspension",
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
  reseller_suspended_at: Date | null;
  removal_requested_at: Date | null;
  changes_pending: boolean;
  next_step_at: Date | null;
}

/** @param reason why the last attempt failed */
export function nextInWords(account: CurrentState, reason: string): string {
  if (!account.changes_pending) {
    return account.status === "Suspended" ? `nothing, until ${whoLifts(account)}` : settledInWords[account.status];
  }
  const step = stepInWords(account);
  if (account.next_step_at === null) return `now: ${step}`;
  return `at ${account.next_step_at.toISOString()}: ${step} (retry: ${reason})`;
}

const settledInWords: Record<Exclude<HostingStatus, "Suspended">, string> = {
  Provisioning: "nothing",
  Ready: "nothing: it works",
  Failed: "nothing: the identifier is free for a new account",
  Removed: "nothing: it is removed",
};

function whoLifts({ suspended_at, reseller_suspended_at }: CurrentState): string {
  if (reseller_suspended_at === null) return "the operator resumes it";
  return `its reseller lifts the suspension${suspended_at === null ? "" : ", and the operator resumes it"}`;
}

function stepInWords(account: CurrentState): string {
  const { status, node_id, error_text, removal_requested_at } = account;
  const isToBeSuspended = account.suspended_at !== null || account.reseller_suspended_at !== null;
  if (removal_requested_at) return "login and site are removed";
  if (error_text !== null) return "what was created is removed";
  if (status === "Provisioning") return node_id === null ? "its server is chosen" : "it is created and tested";
  if (status === "Ready" && isToBeSuspended) return "it is suspended";
  if (status === "Suspended" && !isToBeSuspended) return "it is resumed and tested";
  return "the change is applied on its server";
}
