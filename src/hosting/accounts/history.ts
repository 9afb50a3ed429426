import Type, { type Static } from "typebox";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { liveThenNewest } from "#hosting/accounts/find-account.ts";
import { hasChangesPending, hostingStatusShape, type ShownStatus } from "#hosting/accounts/present.ts";
import { hostingStatuses } from "#hosting/accounts/states.ts";
import { eventInWords, nextInWords } from "#hosting/accounts/timeline.ts";
import { canonicalForLookUp } from "#lib/host-identifier.ts";
import { instant, textLike } from "#use-case/docs.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** The newest ones; repeated attempts are one line. */
const eventsMax = 200;

const currentState = statement(
  "hosting-current-state",
  `SELECT id, identifier, status, node_id, error_text, suspended_at, reseller_suspended_at,
     removal_requested_at,
     CASE WHEN backoff_count > 0 THEN next_step_at END AS next_step_at,
     ${hasChangesPending} AS changes_pending
   FROM hosting_accounts WHERE reseller_id = $reseller_id AND identifier = $identifier AND status <> 'Removed'
   ORDER BY ${liveThenNewest} LIMIT 1`,
  {
    id: "int8",
    identifier: "text",
    status: hostingStatuses,
    node_id: "text?",
    error_text: "text?",
    suspended_at: "timestamptz?",
    reseller_suspended_at: "timestamptz?",
    removal_requested_at: "timestamptz?",
    next_step_at: "timestamptz?",
    changes_pending: "bool",
  },
);

const events = statement(
  "hosting-events",
  `SELECT at, last_at, count, event, status FROM (
     SELECT id, at, last_at, count, event, status FROM hosting_history WHERE account_id = $account_id
     ORDER BY id DESC LIMIT $rows_max::int4) AS newest ORDER BY id`,
  { at: "timestamptz", last_at: "timestamptz?", count: "int4", event: "text", status: hostingStatuses },
);

const historyShape = Type.Object(
  {
    identifier: textLike("hello.example"),
    status: hostingStatusShape,
    changes_pending: Type.Boolean({ examples: [false] }),
    next: Type.String({ description: "For people.", examples: ["nothing: it works"] }),
    history: Type.Array(
      Type.Object({
        at: instant,
        event: Type.String({
          ...textLike("requested"),
          description: "A program ignores events that it does not know.",
        }),
        status: hostingStatusShape,
        text: Type.String({ description: "For people.", examples: ["the account was ordered"] }),
        count: Type.Optional(Type.Integer({ description: "How often it happened." })),
        last_at: Type.Optional(instant),
      }),
    ),
  },
  { title: "HostingHistory" },
);

/** GET /hostingaccounts/<identifier>/history: its events so far, its status, and what happens next. */
export const readHostingHistory: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",
  docs: {
    operation: "readHostingHistory",
    summary: "Reads the events of a hosting account, and its next step.",
    description: `The newest ${eventsMax} events, in order of time.`,
    answers: { 200: { description: "The history.", body: historyShape } },
  },

  async handle({ database }, { caller, params }) {
    const identifier = canonicalForLookUp(params.identifier ?? "");
    const [account] = await database.point(currentState, { reseller_id: caller.resellerId, identifier });
    if (!account) throw new ApiError("hostingaccount_invalid_identifier");
    const { id, changes_pending } = account;
    const happened = await database.point(events, { account_id: id, rows_max: eventsMax });
    const next = nextInWords(account, "its server has not applied it yet");
    const history = happened.map(({ at, last_at, count, event, status: statusThen }) => ({
      at: at.toISOString(),
      event,
      status: statusThen as ShownStatus,
      text: eventInWords(event),
      ...(last_at && { count, last_at: last_at.toISOString() }),
    }));
    const status = account.status as ShownStatus;
    const body: Static<typeof historyShape> = { identifier, status, changes_pending, next, history };
    return { status: 200, body };
  },
};
