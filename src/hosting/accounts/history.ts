import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { newestFirst } from "#hosting/accounts/own-account.ts";
import { hasChangesPending } from "#hosting/accounts/present.ts";
import { eventInWords, nextInWords } from "#hosting/accounts/timeline.ts";
import { canonicalForLookUp } from "#hosting/host-names/host-names.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** The newest ones; repeated tries are one line. */
const eventsMax = 200;

const standing = statement(
  "hosting-standing",
  `SELECT id, identifier, status, node_id, error_text, suspended_at, removal_requested_at,
     CASE WHEN backoff_count > 0 THEN next_step_at END AS next_step_at,
     ${hasChangesPending} AS changes_pending
   FROM hosting_accounts WHERE reseller_id = $1 AND identifier = $2 AND status <> 'Removed'
   ORDER BY ${newestFirst} LIMIT 1`,
  {
    id: "int8",
    identifier: "text",
    status: "text",
    node_id: "text?",
    error_text: "text?",
    suspended_at: "timestamptz?",
    removal_requested_at: "timestamptz?",
    next_step_at: "timestamptz?",
    changes_pending: "bool",
  },
);

const events = statement(
  "hosting-events",
  `SELECT at, last_at, count, event, status FROM (
     SELECT id, at, last_at, count, event, status FROM hosting_history WHERE account_id = $1 ORDER BY id DESC LIMIT $2
   ) AS newest ORDER BY id`,
  { at: "timestamptz", last_at: "timestamptz?", count: "int4", event: "text", status: "text" },
);

/** GET /hostingaccounts/<identifier>/history: what happened to it, where it stands, and what happens next. */
export const readHostingHistory: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",

  async handle({ database }, { caller, params }) {
    const [account] = await database.point(standing, [caller.resellerId, canonicalForLookUp(params.identifier ?? "")]);
    if (!account) throw new ApiError("hostingaccount_invalid_identifier");
    const { id, identifier, status, changes_pending } = account;
    const happened = await database.point(events, [id, eventsMax]);
    const next = nextInWords(account, "its server did not do it yet");
    const history = happened.map(({ at, last_at, count, event, status: then }) => ({
      at: at.toISOString(),
      event,
      status: then,
      text: eventInWords(event),
      ...(last_at && { count, last_at: last_at.toISOString() }),
    }));
    return { status: 200, body: { identifier, status, changes_pending, next, history } };
  },
};
