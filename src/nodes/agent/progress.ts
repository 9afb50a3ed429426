/** How far this node is: on its disk, so that a killed agent goes on from what surely holds. */
import { readFile } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import type { Log } from "#lib/log.ts";
import { SyncBody } from "#nodes/agent/messages.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

const Progress = Type.Object({
  /** Whose: another gateway's, or another node's, versions mean nothing here. */
  joined: Type.String(),
  /** Everything up to it is in force. */
  version: Type.Integer(),
  /** The newest that was seen: an older document is a forgery or comes from a lost database. */
  head: Type.Integer(),
  /** What was refused on the way to `version`; the gateway may not have heard it yet. */
  refused: SyncBody.properties.refused,
});
export type Progress = Static<typeof Progress>;

/** @param joined names gateway and node: progress of others counts as none */
export async function readProgress(path: string, joined: string, log: Log): Promise<Progress> {
  const nothing: Progress = { joined, version: -1, head: -1, refused: [] };
  const text = await readFile(path, "utf8").catch(ignoreMissing);
  if (text === undefined) return nothing;
  const progress = parseProgress(text);
  // To ask for everything is always right: states are what shall be, not what shall be done.
  if (!progress) log.error({ path }, "the agent's progress cannot be read: everything is fetched and applied again");
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
