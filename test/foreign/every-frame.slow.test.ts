/**
 * Every kind of frame that the EPP client and the sandbox registry send, judged by the RFCs' schemas: in process, by the
 * client's validator, and by Debian's xmllint. Frames that are wrong on purpose are named.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import { type SandboxRegistryOptions, startSandboxRegistry } from "../../sandbox/registry/server.ts";
import { type Style, styleNames } from "../../sandbox/registry/style.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { registrarId, registrarPassword } from "../harness/profiles.ts";
import { place, until } from "../orders/judge.ts";
import { rival, type Tour, tourCommands, tourLabels } from "./command-tour.ts";
import { noXmllint, xmllintFaults } from "./xmllint.ts";

const root = join(import.meta.dirname, "../..");

interface Frame {
  /** Who sent it, in which tour, what it is. */
  about: string;
  xml: string;
}

/** The answer that is not XML: a label asks for it. */
const isGarbage = ({ direction, name }: JournalEntry) => direction === "out" && /(^|-)garbage-/.test(name ?? "");
/** The order of output that no schema allows, for clients that ought not to care. */
const brokenStyle: Style = "disordered";

const quick = { pendingDelayMs: 20, undoDelayMs: 20, lateMs: 400, slowMsMax: 10 };
const thin = { dataModel: "thin", hostModel: "attributes" } as const;

/** Runs a tour at a registry of its own; every frame that the registry's journal and the client's trace have of it. */
async function walk(
  name: string,
  options: Partial<SandboxRegistryOptions>,
  walkAt: (registry: Awaited<ReturnType<typeof startSandboxRegistry>>) => Promise<Tour>,
): Promise<{ tour: Tour; frames: Frame[] }> {
  const registrars = [{ id: registrarId, password: registrarPassword }, rival];
  const registry = await startSandboxRegistry({ suffixes: ["test"], registrars, ...quick, ...options });
  try {
    const tour = await walkAt(registry);
    const traced = tour.traced.map(({ direction, xml }) => ({
      about: `${name}: ${direction} by the client`,
      xml: withHiddenParts(xml),
    }));
    return { tour, frames: [...framesOf(name, registry.store.journal.entries()), ...traced] };
  } finally {
    await registry.close();
  }
}

/** The client hides all that is in an authInfo, its element too, and the numbers of people, which have a form. */
function withHiddenParts(xml: string): string {
  return xml
    .replace(/<((?:\w+:)?)authInfo>\[secret\]</g, "<$1authInfo><$1pw>[secret]</$1pw><")
    .replace(/(<(?:\w+:)?(?:voice|fax)(?:\s[^>]*)?>)\[secret\]</g, "$1+1.5555550100<");
}

function framesOf(name: string, entries: JournalEntry[]): Frame[] {
  const frames = entries.filter((entry) => entry.direction !== "event" && !isGarbage(entry));
  return frames.map((entry) => ({
    about: `${name}: ${entry.direction} ${entry.command} ${entry.name ?? ""} ${entry.code ?? ""}`,
    // An entry without its text is one that could not be read: nobody here sends such.
    xml: entry.xml ?? "",
  }));
}

const withStyles = (styles: Style[]) => walk(styles.join(" ") || "plain", { faults: { styles } }, tourCommands);

const styleGroups: Style[][] = [
  ["prefixed", "reordered", "comments", "undeclared"],
  ["unprefixed", "cdata", "bom"],
  ["pretty", "encoding"],
];

const plain = await withStyles([]);
const styled = await Promise.all(styleGroups.map(withStyles));
const attributes = await walk("thin", thin, (registry) => tourCommands(registry, thin));
const labelled = await walk("labels", {}, tourLabels);
const ordered = await walkOrders();
const frames = [plain, ...styled, attributes, labelled, ordered].flatMap((walked) => walked.frames);

/** Orders from the API to the registry and back, as the worker sends them. */
async function walkOrders(): Promise<{ frames: Frame[] }> {
  const gateway = await startTestGateway({ after }, { sandbox: quick });
  const reseller = await gateway.addReseller();
  for (const label of ["plain", "pending-approve", "once-2400", "drop-after", "race"]) {
    const order = await place(gateway, reseller, `${label}-tour.example`);
    await gateway.settled(reseller, order.location);
  }
  const cancelled = await place(gateway, reseller, "pending-deletable-tour.example");
  const { journal } = gateway.registry.store;
  await until("it is pending", () => journal.entries({ command: "domain:create" }).some(({ code }) => code === 1001));
  await gateway.send(reseller, "DELETE", cancelled.location);
  await until("a message is acknowledged", () => journal.entries({ command: "poll:ack" }).length > 0);
  await gateway.stopWorker();
  return { frames: framesOf("orders", journal.entries()) };
}

test("the tours go through every command that the client has", () => {
  const folder = join(root, "src/registry/epp/commands");
  const sources = globSync("**/*.ts", { cwd: folder, exclude: ["**/*.test.ts"] }).map((path) =>
    readFileSync(join(folder, path), "utf8"),
  );
  const named = sources.flatMap((text) =>
    [...text.matchAll(/["`]((?:contact|domain|host|poll):[a-z]+)/g)].map(([, name]) => name),
  );
  const walked = new Set(plain.tour.steps.map((step) => step.split(/[- ]/)[0]));
  for (const name of named) assert.ok(walked.has(name), name);
  assert.ok(new Set(named).size >= 15, `${named}`);
});

test("what the tours ask for is done, but for what is refused on purpose", () => {
  for (const { tour } of [plain, attributes]) {
    const refused = tour.steps.filter((step) => !/ (1\d{3}|changed)$/.test(step));
    assert.deepEqual(refused, ["domain:create 2302"]);
  }
});

test("the client reads answers of every style alike", () => {
  const commands = ({ tour }: { tour: Tour }) => tour.steps.filter((step) => !step.startsWith("poll"));
  for (const walked of styled) assert.deepEqual(commands(walked), commands(plain));
  assert.deepEqual([...new Set([...styleGroups.flat(), brokenStyle])].sort(), [...styleNames].sort());
});

test("every frame of the tours is valid by the schemas, in either direction", async () => {
  const validate = await loadFrameValidator();
  const faults = frames.flatMap(({ about, xml }) => {
    try {
      validate(xml);
      return [];
    } catch (error) {
      return [`${about}: ${error}\n${xml}`];
    }
  });
  assert.deepEqual(faults.slice(0, 5), [], `${faults.length} of ${frames.length}`);
  assert.ok(frames.length > 1_000, `${frames.length} frames`);
});

test("every frame of the tours is valid by xmllint, in either direction", { skip: noXmllint }, async () => {
  const faults = await xmllintFaults(frames.map(({ xml }) => xml));
  const shown = [...faults].slice(0, 5).map(([index, fault]) => `${frames[index]?.about}: ${fault}`);
  assert.deepEqual(shown, [], `${faults.size} of ${frames.length}`);
});
