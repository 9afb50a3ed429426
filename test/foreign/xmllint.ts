/** Debian's xmllint as a judge of EPP frames: none of the code that judges is ours, and no library that we use. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const outputBytesMax = 64 * 1024 * 1024;
/** Linux allows 2 MiB of arguments; the names of this many files are far shorter. */
const framesPerRun = 2_000;

export const noXmllint = spawnSync("xmllint", ["--version"]).error !== undefined && "libxml2-utils is not installed";

/** What the schemas of `schemas/epp` have against each frame: the frame's place in the list → xmllint's first words. */
export async function xmllintFaults(frames: readonly string[]): Promise<Map<number, string>> {
  const folder = await mkdtemp(join(tmpdir(), "xmllint-frames-"));
  try {
    await Promise.all(frames.map((xml, index) => writeFile(join(folder, `${index}.xml`), xml)));
    const faults = new Map<number, string>();
    for (let first = 0; first < frames.length; first += framesPerRun) {
      const names = frames.slice(first, first + framesPerRun).map((_xml, index) => `${first + index}.xml`);
      for (const [index, fault] of readVerdicts(names, await runXmllint(folder, names))) faults.set(index, fault);
    }
    return faults;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function runXmllint(folder: string, names: readonly string[]): Promise<string> {
  const schema = join(import.meta.dirname, "../../schemas/epp/all.xsd");
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, maxBuffer: outputBytesMax };
    // It exits with 3 or 4 when a frame is invalid: what it says about each file is what counts.
    execFile("xmllint", ["--nonet", "--noout", "--schema", schema, ...names], options, (error, _stdout, stderr) => {
      if (error && typeof error.code !== "number") reject(error);
      else resolve(stderr);
    });
  });
}

/** A file without a verdict counts as faulty: a judge that says nothing has not acquitted. */
function readVerdicts(names: readonly string[], output: string): [number, string][] {
  const lines = output.split("\n");
  const acquitted = new Set(lines.filter((line) => line.endsWith(" validates")).map((line) => line.split(" ")[0]));
  return names
    .filter((name) => !acquitted.has(name))
    .map((name) => [Number.parseInt(name, 10), lines.find((line) => line.startsWith(`${name}:`)) ?? "no verdict"]);
}
