import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { orderStates } from "#domains/orders/states.ts";
import { renewalTransitions } from "#domains/schedule/states.ts";
import { hostingTransitions } from "#hosting/accounts/states.ts";
import { moveTransitions } from "#hosting/moves/states.ts";
import { needsText } from "#ote/plan.ts";
import { steps } from "#ote/steps.ts";
import type { Transition } from "#progress/state-table.ts";
import { zoneTransitions } from "#zones/states.ts";
import { replacePrinted } from "../harness/printed-page.ts";
import { drawStates, type Layout } from "../harness/state-drawing.ts";

/** The tables of each page, by the names of their placeholders. */
const pages: Record<string, Record<string, string>> = {
  "docs/states.md": {
    orders: printStates(orderStates.transitions),
    renewals: printStates(renewalTransitions),
    "hosting accounts": printStates(hostingTransitions),
    zones: printStates(zoneTransitions),
  },
  "docs/hosting.md": {
    moves: printStates(moveTransitions),
  },
  "docs/ote.md": {
    steps: printTable(
      ["step", "what", "defined in", "right", "needs"],
      steps.map((step) => [
        `\`${step.id}\``,
        step.title,
        step.rfc,
        step.expected.join(", ") || "a greeting",
        needsText(step),
      ]),
    ),
  },
};

for (const [path, tables] of Object.entries(pages)) {
  test(`${path} shows the tables of the code`, async () => {
    const page = new URL(`../../${path}`, import.meta.url);
    const text = await readFile(page, "utf8");
    const printed = Object.entries(tables).reduce((before, [name, table]) => replacePrinted(before, name, table), text);
    if (process.env.UPDATE_GOLDEN) await writeFile(page, printed);
    else assert.equal(text, printed, "run UPDATE_GOLDEN=1 npm test -- test/orders/states-page.test.ts");
  });
}

const orders: Layout = {
  name: "order-states",
  title: "The states of an order",
  left: { NotProvisioned: "neutral", Processing: "neutral", Pending: "neutral" },
  right: { FailedValidation: "bad", Cancelled: "neutral", Finished: "good", Errors: "bad" },
};
const accounts: Layout = {
  name: "account-states",
  title: "The states of a hosting account",
  left: { Provisioning: "neutral", Ready: "good", Suspended: "neutral" },
  right: { Failed: "bad", Removed: "neutral" },
};

for (const [layout, transitions] of [
  [orders, orderStates.transitions],
  [accounts, hostingTransitions],
] as const) {
  test(`docs/drawings/${layout.name}.svg shows the table of the code`, async () => {
    const file = new URL(`../../docs/drawings/${layout.name}.svg`, import.meta.url);
    const drawn = drawStates(layout, transitions);
    if (process.env.UPDATE_GOLDEN) await writeFile(file, drawn);
    else
      assert.equal(await readFile(file, "utf8"), drawn, "UPDATE_GOLDEN=1 npm test -- test/orders/states-page.test.ts");
  });
}

test("a state or a change that a drawing has no place for is an error, and so is a state that is gone", () => {
  const withOneMore = (from: string, to: string) => () =>
    drawStates(orders, [...orderStates.transitions, { from, to }]);
  assert.throws(withOneMore("Pending", "Paused"), /Paused has no place/);
  assert.throws(withOneMore("NotProvisioned", "Pending"), /not neighbours/);
  assert.throws(withOneMore("Errors", "Processing (send)"), /no arrow leads back/);
  const withoutPending = orderStates.transitions.filter(({ from, to }) => from !== "Pending" && to !== "Pending");
  assert.throws(() => drawStates(orders, withoutPending), /the table has no Pending/);
});

/** A line for each event and where it leads, with all states in which it does. */
function printStates(transitions: readonly Transition<string, string>[]): string {
  const lines = Map.groupBy(transitions, ({ row, from, event, to }) =>
    [row, event, from === to ? "the same" : to].join("/"),
  );
  const rows = [...lines.values()].map((alike) => {
    const { row, event, from, to } = alike[0]!;
    const states = alike.map((transition) => transition.from).join(", ");
    return [row, states, event, from === to && alike.length > 1 ? "the same" : to];
  });
  return printTable(["row", "state", "event", "next state"], rows);
}

function printTable(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
