/** The machines of hosting, each with its rows and its step. */
import type { Context } from "#context.ts";
import { longestAccountWait } from "#hosting/accounts/accounts.ts";
import { advanceAccount } from "#hosting/accounts/advance.ts";
import { advanceHostName, checkHostName, longestHostNameWait } from "#hosting/host-names/check.ts";
import { answerQuestion, questionLockClass, questionsInTurn } from "#hosting/host-names/questions.ts";
import { advanceMove, longestMoveWait } from "#hosting/moves/steps.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { reconcileNode } from "#hosting/nodes/reconcile.ts";
import { wakeUnplacedOnRoom } from "#hosting/wake.ts";
import type { RowLocks } from "#locks/row-locks.ts";
import { type StepInProgress, startMachine } from "#progress/engine.ts";
import { progressRows } from "#progress/rows.ts";

/** Concurrent steps of each machine in a worker. Accounts wait for their nodes most of the time. */
const accountsMax = 8;
/** Separate from accounts: copying takes long, and new accounts must not wait for it. */
const movesMax = 2;
const hostNamesMax = 4;
/** Separate from host names: name servers that do not answer must not delay what needs no DNS. */
const questionsMax = 16;
const reconcilesMax = 2;

/** The first halves of the lock keys: three ASCII letters. */
const lockClasses = { accounts: 0x686163, moves: 0x686d76, hostNames: 0x686e6d, reconciles: 0x687263 } as const;

const key = { column: "id", type: "int8" } as const;
const accountRows = progressRows("hosting-accounts", {
  table: "hosting_accounts",
  id: key,
  longestWait: longestAccountWait,
});
const moveRows = progressRows("hosting-moves", { table: "hosting_moves", id: key, longestWait: longestMoveWait });
const hostNameRows = progressRows("host-names", { table: "host_names", id: key, longestWait: longestHostNameWait });
const reconcileRows = progressRows("hosting-reconciles", {
  table: "hosting_reconciles",
  id: { column: "node_id", type: "text" },
  longestWait: "interval '5 minutes'",
});

export interface HostingMachines {
  /** The steps in progress. */
  stepsInProgress(): StepInProgress[];
  /** Waits for them. */
  close(): Promise<void>;
}

/** Runs the steps that are due until it is closed. Does not throw: a failed read is repeated a second later. */
export function startHostingMachines(context: Context, locks: RowLocks, nodes: HostingNodes): HostingMachines {
  const closing = new AbortController();
  const lockedBy = (lockClass: number) => ({ locks, lockClass });
  const machines = [
    startMachine(context, {
      name: "hosting-accounts",
      rows: accountRows(context),
      rowsMax: accountsMax,
      exclusion: lockedBy(lockClasses.accounts),
      step: (id) => advanceAccount(context, nodes, id),
    }),
    startMachine(context, {
      name: "hosting-moves",
      rows: moveRows(context),
      rowsMax: movesMax,
      exclusion: lockedBy(lockClasses.moves),
      step: (id) => advanceMove(context, nodes, id),
    }),
    startMachine(context, {
      name: "host-names",
      rows: hostNameRows(context),
      rowsMax: hostNamesMax,
      exclusion: lockedBy(lockClasses.hostNames),
      step: (id) => advanceHostName(context, id),
    }),
    startMachine(context, {
      name: "host-name-questions",
      rows: questionsInTurn(context),
      rowsMax: questionsMax,
      exclusion: lockedBy(questionLockClass),
      step: (id) => answerQuestion(context, id, () => checkHostName(context, id, closing.signal)),
    }),
    startMachine(context, {
      name: "hosting-reconciles",
      rows: reconcileRows(context),
      rowsMax: reconcilesMax,
      exclusion: lockedBy(lockClasses.reconciles),
      step: (nodeId) => reconcileNode(context, nodes, nodeId),
    }),
  ];
  const wakes = wakeUnplacedOnRoom(context);
  return {
    stepsInProgress: () => machines.flatMap((machine) => machine.stepsInProgress()),
    async close() {
      wakes.close();
      closing.abort();
      await Promise.all(machines.map((machine) => machine.stop()));
    },
  };
}
