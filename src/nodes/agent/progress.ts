/** The last version that is in force, on disk, so that an agent continues from it after a kill. */
import { readFile } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import type { Log } from "#lib/log.ts";
import { SyncBody } from "#nodes/agent/messages.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

const Progress = Type.Object({
  /** Gateway and node that the versions belong to: those of others mean nothing here. */
  joined: Type.String(),
  /** All states up to this version are in force. */
  version: Type.Integer(),
  /** The newest version seen: an older document is forged, or comes from a restored database. */
  head: Type.Integer(),
  /** The states up to `version` that were refused; the gateway may not know it yet. */
  refused: SyncBody.properties.refused,
});
export type Progress = Static<typeof Progress>;

/** @param joined names gateway and node: the progress of others is ignored */
export async function readProgress(path: string, joined: string, log: Log): Promise<Progress> {
  const nothing: Progress = { joined, version: -1, head: -1, refused: [] };
  const text = await readFile(path, "utf8").catch(ignoreMissing);
  if (text === undefined) return nothing;
  const progress = parseProgress(text);
  // Asking for everything is always safe: applying a state twice equals applying it once.
  if (!progress) log.error({ path }, "the agent's progress cannot be read: fetching and applying all states again");
  return progress?.joined === joined ? progress : nothing;
}

export async function writeProgress(path: string, progress: Progress): Promise<void> {
  await writeFileAtomic(path, JSON.stringify(progress));
}

function parseProgress(text: string): Progress | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Progress, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
