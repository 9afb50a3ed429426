/**
 * A reporter for `node --test`, which requires a default export: a table of each area's files, tests and seconds, the
 * slowest area first.
 */
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

interface Area {
  files: number;
  tests: number;
  seconds: number;
}

/** "src/lib", "test/orders", "client": the first two folders of a file, or the only one. */
function areaOf(file: string): string {
  return relative(process.cwd(), file).split("/").slice(0, -1).slice(0, 2).join("/");
}

export default async function* printTimes(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const areas = new Map<string, Area>();
  let total = "";
  for await (const { type, data } of events) {
    if (type !== "test:summary") continue;
    const seconds = data.duration_ms / 1000;
    if (data.file === undefined) {
      total = row("all, at the same time", { ...data.counts, files: filesCount(areas), seconds });
      continue;
    }
    const area = areaOf(data.file);
    const { files, tests, seconds: before } = areas.get(area) ?? { files: 0, tests: 0, seconds: 0 };
    areas.set(area, { files: files + 1, tests: tests + data.counts.tests, seconds: before + seconds });
  }
  const slowestFirst = [...areas].toSorted(([, left], [, right]) => right.seconds - left.seconds);
  const rows = slowestFirst.map(([area, times]) => row(`\`${area}\``, times));
  yield `${["| area | files | tests | seconds |", "|---|---|---|---|", ...rows, total].join("\n")}\n`;
}

const filesCount = (areas: ReadonlyMap<string, Area>) => [...areas.values()].reduce((sum, { files }) => sum + files, 0);

function row(name: string, { files, tests, seconds }: Area): string {
  return `| ${name} | ${files} | ${tests} | ${seconds.toFixed(0)} |`;
}
