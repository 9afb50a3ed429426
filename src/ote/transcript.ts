/** A test in words: for a terminal, and as a page to submit. */
import { prettyXml } from "#ote/pretty-xml.ts";
import type { StepResult, WalkReport } from "#ote/report.ts";

const outcomeWords = { ok: "ok", failed: "FAILED", skipped: "skipped", unsent: "not sent" } as const;
const frameIndentation = "     ";

/** A step as lines of text. */
export function stepText(result: StepResult): string {
  const { number, id, title, rfc, frames } = result;
  const head = `${String(number).padStart(3)}  ${id}: ${title}${rfc ? ` (${rfc})` : ""}`;
  const frameLines = frames.flatMap(({ direction, xml }) => [`${direction}:`, ...prettyXml(xml).split("\n")]);
  const lines = [...verdict(result), ...frameLines].map((line) => `${frameIndentation}${line}`);
  return `${[head, ...lines].join("\n")}\n`;
}

/** The same as a section of a Markdown page. */
export function stepMarkdown(result: StepResult): string {
  const { number, id, title, rfc, frames } = result;
  const head = `## ${number}. ${title}\n\n\`${id}\`${rfc ? `, ${rfc}` : ""}: ${verdict(result).join(" ")}\n`;
  const blocks = frames.map(({ direction, xml }) => `\n${direction}:\n\n\`\`\`xml\n${prettyXml(xml)}\n\`\`\`\n`);
  return `${head}${blocks.join("")}\n`;
}

/** The result, in lines of text. */
export function summaryText(report: WalkReport): string {
  const failed = report.results.filter(({ outcome }) => outcome === "failed");
  const lines = [
    counts(report.results),
    ...failed.map(({ number, id, reason }) => `FAILED ${number} ${id}: ${reason}`),
    ...report.goesLater.map((what) => `the registry removes it later: ${what}`),
    ...report.leftovers.map(({ what, why }) => `still there: ${what} (${why})`),
    ...(report.wasInterrupted ? ["interrupted: not every step was tried"] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function counts(results: readonly StepResult[]): string {
  const outcomes = Object.keys(outcomeWords) as StepResult["outcome"][];
  const count = (wanted: StepResult["outcome"]) => results.filter(({ outcome }) => outcome === wanted).length;
  const there = outcomes.filter((outcome) => outcome === "failed" || count(outcome) > 0);
  return there.map((outcome) => `${count(outcome)} ${outcomeWords[outcome].toLowerCase()}`).join(", ");
}

/** The file names for a step's frames, in order: "07-domain-create-sent.xml". */
export function frameFileNames({ number, id, frames }: StepResult): string[] {
  const seen = { sent: 0, received: 0 };
  return frames.map(({ direction }) => {
    seen[direction] += 1;
    const further = seen[direction] > 1 ? `-${seen[direction]}` : "";
    return `${String(number).padStart(2, "0")}-${id}-${direction}${further}.xml`;
  });
}

function verdict({ outcome, reason, expected, code, message, commands, registrar }: StepResult): string[] {
  const sent = [...new Set(commands)].join(", ");
  const word = outcomeWords[outcome];
  if (outcome === "skipped") return [`${word}: ${reason}`];
  const wanted = expected.length > 0 ? `; expected ${expected.join(" or ")}` : "";
  const got = code === undefined ? "" : `, got ${code}${message ? ` (${message})` : ""}`;
  return [`${sent} by ${registrar}${wanted}${got}`, reason === undefined ? word : `${word}: ${reason}`];
}
