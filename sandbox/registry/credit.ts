import { lowBalanceUri } from "./namespaces.ts";
import type { Registry } from "./registry.ts";
import { Refusal } from "./result-codes.ts";
import { otherRegistrarId } from "./settings.ts";
import { tag } from "./xml.ts";

/** A registrar's remaining credit in units; Infinity if no limit is set. */
function creditOf({ store, settings }: Registry, registrar: string): number {
  return store.credits.find(registrar)?.units ?? settings.creditUnits;
}

/** Charges the price of `years` to the registrar's credit. Refuses with 2104, and charges nothing, if the credit is too low. */
export function charge(registry: Registry, registrar: string, years: number): void {
  const credit = creditOf(registry, registrar);
  if (credit === Number.POSITIVE_INFINITY) return;
  const price = years * registry.settings.unitsPerYear;
  if (price > credit) throw new Refusal(2104, `${price} units are needed, ${credit} are left`);
  putCredit(registry, registrar, credit - price);
}

function putCredit(registry: Registry, registrar: string, units: number): void {
  const { lowBalanceUnits } = registry.settings;
  const wasLow = creditOf(registry, registrar) <= lowBalanceUnits;
  registry.store.credits.put({ registrar, units });
  if (lowBalanceUnits > 0 && wasLow !== units <= lowBalanceUnits) tellBalance(registry, registrar, units);
}

function tellBalance({ store, settings, now }: Registry, registrar: string, units: number): void {
  const threshold = settings.lowBalanceUnits;
  const xml = tag(
    "lowbalance-poll:pollData",
    { "xmlns:lowbalance-poll": lowBalanceUri },
    tag("lowbalance-poll:registrarName", {}, registrar),
    tag("lowbalance-poll:creditLimit", {}, String(Math.max(threshold, units))),
    tag("lowbalance-poll:creditThreshold", { type: "FIXED" }, String(threshold)),
    tag("lowbalance-poll:availableCredit", {}, String(units)),
  );
  const text = units > threshold ? "Your account has credit again" : "Low Account Balance";
  const id = String(store.nextNumber());
  store.messages.put({ id, registrar, queuedAt: now().toISOString(), text, xml: xml.markup, xmlUri: lowBalanceUri });
}

/** Sets a registrar's credit. @throws RangeError for an unknown registrar or a negative amount */
export async function setCredit(registry: Registry, registrar: string, units: number): Promise<void> {
  requireRegistrar(registry, registrar);
  if (!(units >= 0)) throw new RangeError(`A credit is 0 or more units, not ${units}.`);
  putCredit(registry, registrar, units);
  await registry.store.durable();
}

/** @throws RangeError for an id that is neither configured nor the other registrar's */
export function requireRegistrar({ registrars }: Registry, id: string): void {
  if (!registrars.has(id) && id !== otherRegistrarId) throw new RangeError(`There is no registrar "${id}".`);
}
