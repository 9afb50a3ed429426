/** Where a worker is killed: states of the database or of the registry, independent of the code between them. */
import type { HoldPoint } from "../../sandbox/registry/holds.ts";
import type { Fault, Reach } from "./labels.ts";

/** A row change whose transaction is held at its COMMIT. */
export interface HeldCommit {
  table: "orders" | "order_history" | "attempts" | "poll_messages";
  on: "INSERT" | "UPDATE";
  /** SQL on the rows NEW and OLD. */
  when: string;
  /** The column of the order's id. */
  orderColumn: "id" | "order_id";
  /** Whether the change is committed after the worker's death. */
  isCommitted: boolean;
  /** The worker is stopped (SIGSTOP), the change is committed, then the worker is killed. */
  isFrozenFirst?: true;
}

/** A command that an order sends. */
export interface KindCommand {
  /** As the journal and the attempts name it, or finer: "domain:restore-report". */
  name: string;
  /** The object that it is about. Default: the name. */
  about?: (domainName: string) => string;
}

/** A command that is held at the registry. */
interface HeldFrame {
  command: KindCommand;
  at: HoldPoint;
  /** Whether the registry executes the command after the worker's death. */
  isExecuted: boolean;
}

export interface KillPoint {
  id: string;
  /** Completes "killed …". */
  means: string;
  commit?: HeldCommit;
  frame?: HeldFrame;
  /** Waiting orders are at this point too. */
  withWaiting?: true;
  /** The point at which the previous worker was killed. */
  after?: string;
  /** The orders are cancelled when the previous worker is killed. */
  isCancelled?: true;
  /** The registry is down when the next owner starts. */
  isAway?: true;
  /** How many orders can be at the point at once. */
  ordersMax: number;
  /** How far an order must get to reach the point. */
  reach: Reach;
}

/** The workers' sessions, and so their concurrent orders: fewer than the database's connections (10). */
export const sessionsMax = 8;
const slowSessionsMax = sessionsMax - 1;

// The first attempt is committed with it.
const isClaimed = "OLD.status = 'NotProvisioned' AND NEW.status <> 'NotProvisioned'";
// A refusal that passes leaves the phase as it is.
const isAnswered = `OLD.phase = 'send' AND NEW.status <> 'Cancelled'
  AND (NEW.phase IS DISTINCT FROM 'send' OR NEW.backoff_count > OLD.backoff_count)`;
const claim = `NEW.kind = 'create' AND ${isClaimed}`;
const endOfCreate = `NEW.kind = 'create' AND ${isAnswered}`;
const order = { table: "orders", on: "UPDATE", orderColumn: "id" } as const;
const attempt = { table: "attempts", on: "INSERT", orderColumn: "order_id" } as const;
const domainAttempt = { ...attempt, when: "NEW.command = 'domain:create'" } as const;

export const killPoints: readonly KillPoint[] = [
  {
    id: "accepted",
    means: "after the POST's commit, before the claim's",
    commit: { ...order, when: claim, isCommitted: false },
    withWaiting: true,
    ordersMax: Number.POSITIVE_INFINITY,
    reach: "check",
  },
  {
    id: "accepted-away",
    means: "the same, and the registry is away when the next owner comes",
    commit: { ...order, when: claim, isCommitted: false },
    withWaiting: true,
    isAway: true,
    ordersMax: Number.POSITIVE_INFINITY,
    reach: "check",
  },
  {
    id: "claimed",
    means: "after the claim's commit",
    commit: { ...order, when: claim, isCommitted: true },
    ordersMax: sessionsMax,
    reach: "check",
  },
  {
    id: "contact-made",
    means: "after the contact's answer, before its commit",
    commit: {
      ...attempt,
      on: "UPDATE",
      when: "NEW.command = 'contact:create' AND NEW.result_code IS NOT NULL",
      isCommitted: false,
    },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "contact-known",
    means: "between contact and domain",
    commit: { ...domainAttempt, when: `${domainAttempt.when} AND NEW.number > 1`, isCommitted: false },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "attempted",
    means: "while the attempt row is being committed",
    commit: { ...domainAttempt, isCommitted: true },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "unwritten",
    means: "after the attempt row's commit, before a byte is written",
    commit: { ...domainAttempt, isCommitted: true, isFrozenFirst: true },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "written",
    means: "after the write; the registry executes the create later, under the next owner",
    frame: { command: { name: "domain:create" }, at: "before-execution", isExecuted: true },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "written-lost",
    means: "after the write; the registry never executes the create",
    frame: { command: { name: "domain:create" }, at: "before-execution", isExecuted: false },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "executed",
    means: "after the execution, before the answer",
    frame: { command: { name: "domain:create" }, at: "before-answer", isExecuted: true },
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "executed-away",
    means: "the same, and the registry is away when the next owner comes",
    frame: { command: { name: "domain:create" }, at: "before-answer", isExecuted: true },
    isAway: true,
    ordersMax: slowSessionsMax,
    reach: "create",
  },
  {
    id: "answered",
    means: "after the answer, or its loss, before its commit",
    commit: { ...order, when: endOfCreate, isCommitted: false },
    ordersMax: sessionsMax,
    reach: "create",
  },
  {
    id: "settled",
    means: "after the commit of the answer, or of its loss",
    commit: { ...order, when: endOfCreate, isCommitted: true },
    ordersMax: sessionsMax,
    reach: "create",
  },
  {
    id: "between-infos",
    means: "between the two infos after a lost answer",
    commit: { ...order, when: "OLD.confirm_after IS NULL AND NEW.confirm_after IS NOT NULL", isCommitted: true },
    after: "executed",
    ordersMax: sessionsMax,
    reach: "object",
  },
  {
    id: "delete-written",
    means: "cancelled: after the delete's write; the registry executes it later, under the next owner",
    frame: { command: { name: "domain:delete" }, at: "before-execution", isExecuted: true },
    after: "executed",
    isCancelled: true,
    ordersMax: slowSessionsMax,
    reach: "object",
  },
  {
    id: "deleted",
    means: "cancelled: after the delete's execution, before its answer",
    frame: { command: { name: "domain:delete" }, at: "before-answer", isExecuted: true },
    after: "executed",
    isCancelled: true,
    ordersMax: slowSessionsMax,
    reach: "object",
  },
  {
    id: "message-stored",
    means: "after the poll message's commit, before its ack",
    commit: {
      table: "poll_messages",
      on: "INSERT",
      when: "NEW.order_id IS NOT NULL",
      orderColumn: "order_id",
      isCommitted: true,
    },
    // One session reads the queue, one message at a time.
    ordersMax: 1,
    reach: "message",
  },
];

/** Random moments: one to three kills, some with a cancellation or an outage. */
export const drawnPoints = [
  { id: "random-frame", means: "at the n-th frame that the registry gets, one to three times" },
  { id: "random-commit", means: "at the n-th change of an order, before or after its commit, one to three times" },
];

const changeOrder = { table: "orders", on: "UPDATE", orderColumn: "id" } as const;
const changeClaim = `NEW.kind <> 'create' AND ${isClaimed}`;
const changeAnswered = `NEW.kind <> 'create' AND ${isAnswered}`;

/** The kill points of a kind of order about registered names. @param commands in the order in which it sends them */
export function changeKillPoints(commands: readonly KindCommand[]): KillPoint[] {
  const last = commands.at(-1)!;
  const between = { ...changeOrder, when: "OLD.confirm_after IS NULL AND NEW.confirm_after IS NOT NULL" };
  const claimed = { ...changeOrder, when: changeClaim, isCommitted: false };
  const waiting = { withWaiting: true, ordersMax: Number.POSITIVE_INFINITY, reach: "check" } as const;
  const answered = { ...changeOrder, when: changeAnswered };
  return [
    { id: "accepted", means: "after the POST's commit, before the claim's", commit: claimed, ...waiting },
    {
      id: "accepted-away",
      means: "the same, and the registry is away when the next owner comes",
      commit: claimed,
      ...waiting,
      isAway: true,
    },
    ...commands.flatMap((command) => commandPoints(command, command === last ? "" : suffixOf(command))),
    {
      id: "executed-away",
      means: "after the execution, before the answer; and the registry is away when the next owner comes",
      frame: { command: last, at: "before-answer", isExecuted: true },
      isAway: true,
      ordersMax: slowSessionsMax,
      reach: "create",
    },
    {
      id: "answered",
      means: "after the answer, or its loss, before its commit",
      commit: { ...answered, isCommitted: false },
      ordersMax: sessionsMax,
      reach: "create",
    },
    {
      id: "settled",
      means: "after the commit of the answer, or of its loss",
      commit: { ...answered, isCommitted: true },
      ordersMax: sessionsMax,
      reach: "create",
    },
    {
      id: "between-infos",
      means: "between the two infos after a lost answer",
      commit: { ...between, isCommitted: true },
      after: "executed",
      ordersMax: sessionsMax,
      reach: "object",
    },
  ];
}

/** The word after which a command's kill points are named. */
const suffixOf = ({ name }: KindCommand) => `-${name.split(/[:-]/).at(-1)}`;

/** @param suffix of the ids, for the commands before the last one */
function commandPoints(command: KindCommand, suffix: string): KillPoint[] {
  const { name } = command;
  const attempts = { table: "attempts", on: "INSERT", orderColumn: "order_id" } as const;
  const when = `NEW.command = '${name}'`;
  const shared = { ordersMax: slowSessionsMax, reach: "create" } as const;
  return [
    {
      id: `attempted${suffix}`,
      means: "while the attempt row is being committed",
      commit: { ...attempts, when, isCommitted: true },
      ...shared,
    },
    {
      id: `unwritten${suffix}`,
      means: "after the attempt row's commit, before a byte is written",
      commit: { ...attempts, when, isCommitted: true, isFrozenFirst: true },
      ...shared,
    },
    {
      id: `written${suffix}`,
      means: "after the write; the registry executes the command later, under the next owner",
      frame: { command, at: "before-execution", isExecuted: true },
      ...shared,
    },
    {
      id: `written-lost${suffix}`,
      means: "after the write; the registry never executes the command",
      frame: { command, at: "before-execution", isExecuted: false },
      ...shared,
    },
    {
      id: `executed${suffix}`,
      means: "after the execution, before the answer",
      frame: { command, at: "before-answer", isExecuted: true },
      ...shared,
    },
  ];
}

const reaches: readonly Reach[] = ["check", "create", "object", "message"];

/** Whether an order with this fault can reach the point. */
export function canReach({ reach }: KillPoint, fault: Fault): boolean {
  return reaches.indexOf(fault.reach) >= reaches.indexOf(reach);
}
