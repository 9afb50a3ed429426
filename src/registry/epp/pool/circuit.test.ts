import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemRandom } from "#lib/random.ts";
import type { CircuitOptions, CircuitStatus } from "#registry/epp/pool/circuit.ts";
import { Circuit, circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";

let nowMs = 0;

/** A circuit with a stopped clock and the longest random delays. */
function createCircuit(overrides: Partial<CircuitOptions> = {}): Circuit {
  return new Circuit({
    settings: circuitSettingsDefault,
    clock: { now: () => new Date(nowMs), monotonicMs: () => nowMs },
    random: { ...systemRandom, below: (limit) => limit - 1 },
    probe: async () => "failed",
    onChange: () => undefined,
    ...overrides,
  });
}

describe("the circuit's rules", () => {
  test("five faults within 30 seconds open it; four and an older one do not", () => {
    const circuit = createCircuit();
    circuit.recordFault();
    nowMs += 30_000;
    for (let fault = 0; fault < 4; fault += 1) circuit.recordFault();
    assert.deepEqual(circuit.status(), { state: "closed", retryAfterMs: 0 });
    circuit.recordFault();
    assert.deepEqual(circuit.status(), { state: "open", retryAfterMs: 5_000 });
    circuit.stop();
  });

  test("a refused login opens it at once, and for longer", () => {
    const circuit = createCircuit();
    circuit.recordRefusal();
    assert.deepEqual(circuit.status(), { state: "open", retryAfterMs: 60_000 });
    circuit.stop();
  });

  test("each failed probe doubles the delay up to its maximum, and a successful one resets it", async () => {
    const delaysMs: number[] = [];
    const outcomes: ("failed" | "succeeded")[] = ["failed", "failed", "failed", "succeeded"];
    const settings = { ...circuitSettingsDefault, faultsMax: 1, probeDelayMsMin: 4, probeDelayMsMax: 16 };
    const onChange = ({ state, retryAfterMs }: CircuitStatus) => {
      if (state === "open") delaysMs.push(retryAfterMs);
    };
    const circuit = createCircuit({ settings, onChange, probe: async () => outcomes.shift() ?? "failed" });
    circuit.recordFault();
    while (!circuit.isClosed) await delay(2);
    circuit.recordFault();
    circuit.stop();
    assert.deepEqual(delaysMs, [4, 8, 16, 16, 4]);
  });

  test("a manual probe starts at once, is shared by concurrent callers, and does nothing while the circuit is closed", async () => {
    const answers = [Promise.withResolvers<"failed" | "succeeded">(), Promise.withResolvers<"failed" | "succeeded">()];
    let probes = 0;
    const circuit = createCircuit({ probe: () => answers[probes++]!.promise });
    await circuit.probeNow();
    assert.equal(probes, 0);
    circuit.recordRefusal();
    const both = [circuit.probeNow(), circuit.probeNow()];
    assert.deepEqual([probes, circuit.status().state], [1, "half-open"]);
    answers[0]!.resolve("failed");
    await Promise.all(both);
    assert.equal(circuit.status().state, "open");
    answers[1]!.resolve("succeeded");
    await circuit.probeNow();
    assert.deepEqual([probes, circuit.isClosed], [2, true]);
    circuit.recordRefusal();
    circuit.stop();
    await circuit.probeNow();
    assert.equal(probes, 2);
  });

  test("reports nothing after it is stopped", async () => {
    const states: string[] = [];
    const settings = { ...circuitSettingsDefault, faultsMax: 1, probeDelayMsMin: 1, probeDelayMsMax: 1 };
    const circuit = createCircuit({ settings, onChange: ({ state }) => states.push(state) });
    circuit.recordFault();
    circuit.stop();
    await delay(10);
    assert.deepEqual(states, ["open"]);
  });
});
