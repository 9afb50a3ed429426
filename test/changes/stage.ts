/** A gateway with a registered name, for orders about it. */
import assert from "node:assert/strict";
import { sleep } from "#lib/clock.ts";
import type { Hold } from "../../sandbox/registry/holds.ts";
import type { Scope } from "../harness/database.ts";
import { type GatewayOptions, startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import type { SteeredClock } from "../harness/steered-clock.ts";
import { place } from "../orders/judge.ts";

export interface Stage {
  gateway: TestGateway;
  reseller: TestReseller;
}

/** Names are registered before it returns. */
export async function startStage(scope: Scope, names: readonly string[], options: GatewayOptions = {}): Promise<Stage> {
  const gateway = await startTestGateway(scope, options);
  const reseller = await gateway.addReseller();
  const stage = { gateway, reseller };
  for (const name of names) await own(stage, name);
  return stage;
}

/** Registers a name for the stage's reseller. */
export async function own({ gateway, reseller }: Stage, name: string): Promise<void> {
  const { location } = await place(gateway, reseller, name);
  assert.equal((await gateway.settled(reseller, location)).status, "Finished", name);
}

/** Replaces the worker while the registry holds one command of it, which the registry then executes or not. */
export async function replaceWorkerDuring(
  hold: Hold,
  { gateway, execute }: { gateway: TestGateway; execute: boolean },
): Promise<void> {
  await hold.reached(1);
  await gateway.stopWorker();
  await hold.abandoned(1);
  hold.release({ execute });
  await gateway.startWorker();
}

/** Orders a change that is answered with 202. @returns its location */
export async function order(
  { gateway, reseller }: Stage,
  method: "PUT" | "POST" | "DELETE",
  target: string,
  body?: object,
): Promise<string> {
  const reply = await gateway.send(reseller, method, target, body === undefined ? {} : { body });
  assert.equal(reply.status, 202, `${method} ${target}: ${reply.text}`);
  assert.match(reply.headers.location ?? "", /^\/orders\/(CHG|REN)-/);
  return reply.headers.location ?? "";
}

/** Orders a change and waits for its end. @returns the order as the API shows it */
export async function change(
  stage: Stage,
  ...request: [method: "PUT" | "POST" | "DELETE", target: string, body?: object]
) {
  return stage.gateway.settled(stage.reseller, await order(stage, ...request));
}

/** The domain as the API shows it. */
export async function domain({ gateway, reseller }: Stage, name: string): Promise<Record<string, unknown>> {
  const reply = await gateway.send(reseller, "GET", `/domains/${name}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body as Record<string, unknown>;
}

/** The commands that the registry received about a name. */
export function received({ gateway }: Stage, name: string, command: string) {
  return gateway.registry.store.journal.entries({ name, command }).filter(({ direction }) => direction === "in");
}

/** A registry whose settle time lasts until the test lets it pass, however busy the machine is; lost answers are noticed soon. */
export const steeredRegistry = {
  transformTimeoutMs: 2_000,
  settleMs: 600_000,
  takeoverSettleMs: 0,
  backoffFirstMs: 50,
};

/** Lets time pass until an order has ended. @returns the order as the API shows it */
export async function settledLater({ gateway, reseller }: Stage, clock: SteeredClock, location: string) {
  for (;;) {
    const { body } = await gateway.send(reseller, "GET", location);
    const shown = body as Record<string, unknown>;
    if ("ended_at" in shown) return shown;
    // Between two requests: each is signed at the time at which it is checked.
    clock.skip(1);
    await sleep(50);
  }
}
