/**
 * Counts the paid orders of a UTC day in a file that only its owner can read, so that a restart does not begin again. Each line
 * is one order, appended before it is sent. Appending needs no lock, so several servers with one key count together.
 */
import { randomBytes } from "node:crypto";
import { appendFile, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../client/sdk/clock.ts";

const fileMode = 0o600;
const folderMode = 0o700;
const groupAndOthers = 0o077;
const prefix = "mcp-paid-orders-";
const suffix = ".log";

export class PaidOrderError extends Error {}

export interface PaidOrders {
  /** The orders of today. @throws PaidOrderError when no more may be placed, or the file cannot be trusted */
  check(): Promise<{ placed: number; max: number }>;
  /** Counts an order, and returns what takes it back. @throws PaidOrderError as `check` */
  count(tool: string): Promise<() => Promise<void>>;
}

interface PaidOrderOptions {
  /** Of the profiles. */
  folder: string;
  apiKey: string;
  perDayMax: number;
  clock: Clock;
}

export function createPaidOrders({ folder, apiKey, perDayMax, clock }: PaidOrderOptions): PaidOrders {
  const pathOf = (day: string) => join(folder, `${prefix}${day}${suffix}`);
  const today = () => clock.now().toISOString().slice(0, 10);

  async function placedOn(day: string): Promise<number> {
    const lines = (await readOwn(pathOf(day))).split("\n").filter((line) => line !== "");
    return lines.reduce((placed, line) => placed + weigh(line, apiKey), 0);
  }

  function tooMany(day: string): PaidOrderError {
    const advice = "The person who runs it can allow more: deedhouse mcp --write --paid-orders-per-day N";
    if (perDayMax === 0) return new PaidOrderError(`This server may place no paid orders. Nothing was sent. ${advice}`);
    const nextDay = new Date(Date.parse(day) + 86_400_000).toISOString();
    return new PaidOrderError(
      `This server may place ${perDayMax} paid orders in a day (UTC), and they are placed. Nothing was sent. It may place the next one at ${nextDay}. ${advice}`,
    );
  }

  async function check(day: string) {
    const placed = await placedOn(day);
    if (placed >= perDayMax) throw tooMany(day);
    return { placed, max: perDayMax };
  }

  async function append(day: string, sign: "+" | "-", id: string, tool: string): Promise<void> {
    // A line that a crash has cut must not swallow the next one, so each begins with its own end of line.
    const line = `\n${sign} ${clock.now().toISOString()} ${apiKey} ${tool} ${id}\n`;
    await withAdvice(pathOf(day), () => appendFile(pathOf(day), line, { mode: fileMode, flush: true }));
  }

  return {
    check: () => check(today()),

    async count(tool) {
      const day = today();
      await check(day);
      await withAdvice(folder, () => prepareFolder(folder, `${prefix}${day}${suffix}`));
      const id = randomBytes(6).toString("hex");
      await append(day, "+", id, tool);
      const takeBack = () => append(day, "-", id, tool);
      // Another server may have counted the last one in the same moment.
      if ((await placedOn(day)) > perDayMax) {
        await takeBack();
        throw tooMany(day);
      }
      return takeBack;
    },
  };
}

/** 1 for an order, -1 for one that was taken back. What cannot be read counts: too few orders cost less than too many. */
function weigh(line: string, apiKey: string): number {
  const [, sign, key] = /^([+-]) \S+ ([0-9a-f]{32}) \S+ [0-9a-f]{12}$/.exec(line) ?? [];
  if (key !== undefined && key !== apiKey) return 0;
  return sign === "-" ? -1 : 1;
}

async function prepareFolder(folder: string, todaysFile: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: folderMode });
  const earlier = (name: string) => name.startsWith(prefix) && name.endsWith(suffix) && name < todaysFile;
  for (const name of (await readdir(folder)).filter(earlier)) await rm(join(folder, name), { force: true });
}

/** The file's text; empty if there is none. */
async function readOwn(path: string): Promise<string> {
  return withAdvice(path, async () => {
    try {
      const { mode } = await stat(path);
      if ((mode & groupAndOthers) !== 0) throw new Error("other users of this machine may read it; run chmod 600");
      return await readFile(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw error;
    }
  });
}

async function withAdvice<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = (error as Error).message;
    throw new PaidOrderError(
      `The paid orders of today cannot be counted in ${path}: ${reason}. Nothing was sent, because without the count there is no limit.`,
    );
  }
}
