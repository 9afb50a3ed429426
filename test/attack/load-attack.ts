import { readdirSync } from "node:fs";
import type { Attack } from "./attack.ts";

const folder = new URL("attacks/", import.meta.url);

/** The names of all attacks, in the order of the alphabet. */
export function attackNames(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .sort();
}

/** @throws when there is no such file, or it has another attack in it */
export async function loadAttack(name: string): Promise<Attack> {
  const { attack } = (await import(new URL(`${name}.ts`, folder).href)) as { attack: Attack };
  if (attack.name !== name) throw new Error(`test/attack/attacks/${name}.ts has the attack "${attack.name}"`);
  return attack;
}
