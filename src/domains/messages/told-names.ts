/**
 * What a registry tells of names without a command of ours: it goes into the names' history, and makes a look at them due. Only the
 * look shows what is true.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { messageText } from "#domains/messages/kept-texts.ts";
import { shownOf } from "#domains/portfolio/rows.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { ChangeData } from "#registry/epp/commands/messages/change-data.ts";
import type { ToldObject } from "#registry/epp/commands/messages/told-objects.ts";
import type { PollMessage } from "#registry/epp/commands/session/poll-request.ts";

const knownNames = statement(
  "told-names",
  `SELECT asked AS domain_name,
     EXISTS (SELECT FROM domains WHERE domain_name = asked AND registry_id = $registry_id) AS is_here,
     EXISTS (SELECT FROM domains_ended WHERE domain_name = asked AND registry_id = $registry_id)
       OR EXISTS (SELECT FROM orders WHERE domain_name = asked AND registry_id = $registry_id
         AND kind = 'create' AND ended_at IS NULL) AS is_known
   FROM unnest($names::text[]) WITH ORDINALITY AS given(asked, place) ORDER BY place`,
  { domain_name: "text?", is_here: "bool", is_known: "bool" },
);

const tellNames = statement(
  "told-names-write",
  `WITH told AS (
     UPDATE domains SET look_at = least(look_at, $now)
     WHERE domain_name = ANY ($names::text[]) AND registry_id = $registry_id RETURNING domain_name, reseller_id)
   INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   SELECT domain_name, reseller_id, $now, $event, $note FROM told`,
  {},
);

/** Names in the text of a message that are looked at, and where they are looked for. */
const namesInTextMax = 5;
const textCharsMax = 2_000;

/** An event of a name's history, and what it says. */
export interface Told {
  event: "registry-change" | "registry-notice";
  note: string;
}

export interface ToldNames {
  /** In the portfolio. */
  here: string[];
  /** Not here, and nobody's surprise: it has left, or is being registered. */
  isKnown: boolean;
  /** Neither. */
  strangers: string[];
}

/** Which of these names, or of the names above them, are ours. */
export async function findToldNames(
  { context, profile }: RegistrySessions,
  names: readonly string[],
): Promise<ToldNames> {
  if (names.length === 0) return { here: [], isKnown: false, strangers: [] };
  const rows = await context.database.query(knownNames, { registry_id: profile.id, names: names.slice() });
  const here = rows.flatMap(({ is_here, domain_name }) => (is_here && domain_name !== null ? [domain_name] : []));
  const strangers = rows.flatMap(({ is_here, is_known, domain_name }) =>
    is_here || is_known || domain_name === null ? [] : [domain_name],
  );
  return { here, isKnown: rows.some((row) => row.is_known), strangers };
}

/** The name of a domain, or a host's and those above it, of which one may be ours. */
export function namesOf({ object, id }: ToldObject): string[] {
  const name = id.toLowerCase();
  if (object === "domain") return [name];
  if (object === "contact") return [];
  const labels = name.split(".").slice(0, 127);
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join("."));
}

/** The first names under the registry's suffixes that the text mentions. */
export function namesInText(text: string, suffixes: readonly string[]): string[] {
  const words =
    text
      .slice(0, textCharsMax)
      .toLowerCase()
      .match(/[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,10}/g) ?? [];
  return [...new Set(servedNames(words, suffixes))].slice(0, namesInTextMax);
}

/** Those under the registry's suffixes. */
export const servedNames = (names: readonly string[], suffixes: readonly string[]): string[] =>
  names.filter((name) => suffixes.some((suffix) => name.endsWith(`.${suffix}`)));

export async function tell(
  { context, profile }: RegistrySessions,
  tx: Transaction,
  names: readonly string[],
  { event, note }: Told,
): Promise<void> {
  if (names.length === 0) return;
  const values = { names: names.slice(), registry_id: profile.id, now: context.clock.now(), event };
  await tx.query(tellNames, { ...values, note: messageText(note) });
}

/** RFC 8590: what the registry says that it did, why, and what it showed before or after it. */
export function describeChange(change: ChangeData, told: ToldObject): string {
  const { operation, op, date, who, caseId, reason, svTRID, state } = change;
  const facts = [
    told.object === "domain" ? undefined : `${told.object} ${told.id}`,
    date && `at ${date.toISOString()}`,
    who && `by "${who}"`,
    caseId && `for the case ${caseId}`,
    reason && `because "${reason}"`,
    svTRID && `as ${svTRID}`,
    told.shown && `${state === "before" ? "before it" : "after it"} ${describeShown(told.shown)}`,
  ];
  return [op ? `${operation} (${op})` : operation, ...facts].filter(Boolean).join(", ");
}

function describeShown(info: NonNullable<ToldObject["shown"]>): string {
  const { statuses, name_servers: servers, ex_date: exDate } = shownOf(info);
  const facts = [
    `statuses "${statuses.join(", ")}"`,
    `name_servers "${servers.map(({ name }) => name).join(", ")}"`,
    exDate && `expiration_date "${exDate}"`,
  ];
  return facts.filter(Boolean).join(", ");
}

/** What a message without an extension says of an object: its text, or at least what its data are. */
export function describeNotice({ text, dataNames, named }: PollMessage, told?: ToldObject): string {
  const { rgpStatus } = told ?? {};
  return [text || dataNames[0], rgpStatus, named?.facts.join(", ")].filter(Boolean).join(": ");
}
