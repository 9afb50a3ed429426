/** What a message says, in the words of each channel. */
import { hostname } from "node:os";

/** About one alarm. */
export interface AlarmNews {
  what: "opened" | "resolved";
  alarmId: number;
  kind: string;
  subject: string;
  note: string;
  since: Date;
  resolvedAt: Date | null;
}

/** What is sent at once. A message that is sent again has the same id. */
export interface Notice {
  id: string;
  at: Date;
  type: "alarm.opened" | "alarm.resolved" | "alarm.summary" | "alarm.test";
  /** Of a summary: those that are due now; of a test: none. */
  news: readonly AlarmNews[];
}

/** Lines of a summary for people. */
const summaryLinesMax = 50;
const subjectCharsMax = 150;

const verbs = { opened: "ALARM", resolved: "resolved" } as const;
const inOneLine = (text: string) => text.replace(/\s+/g, " ").trim();
const title = ({ what, kind, subject }: AlarmNews) => inOneLine(`${verbs[what]}: ${kind} ${subject}`);

/** One line. */
export function subjectOf({ type, news }: Notice): string {
  return `[deedhouse ${hostname()}] ${told(type, news)}`.slice(0, subjectCharsMax);
}

function told(type: Notice["type"], news: readonly AlarmNews[]): string {
  if (type === "alarm.test") return "a test of the messages about alarms";
  if (type !== "alarm.summary") return title(news[0]!);
  const opened = news.filter(({ what }) => what === "opened").length;
  return `summary: ${opened} alarms opened, ${news.length - opened} resolved`;
}

const advice = `deedhouse alarms list shows what is open; docs/runbook.md says what to do about each kind.`;

/** Plain text. */
export function textOf({ type, news, at }: Notice): string {
  const from = `From deedhouse on ${hostname()}, ${at.toISOString()}.`;
  if (type === "alarm.test") return `This is a test: alarms arrive here.\n\n${from}\n`;
  if (type === "alarm.summary") {
    const lines = news.slice(0, summaryLinesMax).map((one) => `- ${title(one)}: ${inOneLine(one.note)}`);
    const rest = news.length - lines.length;
    return [...lines, ...(rest > 0 ? [`and ${rest} more.`] : []), "", advice, from, ""].join("\n");
  }
  const { kind, subject, note, since, resolvedAt } = news[0]!;
  const times = [`Since: ${since.toISOString()}`, ...(resolvedAt ? [`Resolved: ${resolvedAt.toISOString()}`] : [])];
  return [`Alarm: ${kind}`, `About: ${inOneLine(subject)}`, ...times, "", note, "", advice, from, ""].join("\n");
}

/** For programs. */
export const jsonOf = ({ id, type, at, news }: Notice): string =>
  JSON.stringify({
    id,
    type,
    created_at: at.toISOString(),
    data: {
      host: hostname(),
      alarms: news.map(({ what, alarmId, resolvedAt, ...alarm }) => ({
        id: alarmId,
        status: what,
        ...alarm,
        ...(resolvedAt && { resolved_at: resolvedAt }),
      })),
    },
  });

/** Slack and those that take its format read these three as markup. */
const slackEscapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** For chats. */
export const slackOf = (notice: Notice): string =>
  JSON.stringify({
    text: `*${subjectOf(notice)}*\n${textOf(notice)}`.replace(/[&<>]/g, (sign) => slackEscapes[sign]!),
  });
