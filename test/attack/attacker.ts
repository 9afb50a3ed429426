/** Runs one attack in a process of its own, until the parent disconnects: node attacker.ts <attack> <ready file> <accounts as JSON> */
import { readFileSync } from "node:fs";
import type { ReadyDocument } from "../harness/running-system.ts";
import { loadAttack } from "./load-attack.ts";

const [name = "", readyFile = "", accounts = "[]"] = process.argv.slice(2);
const attack = await loadAttack(name);
const ready = JSON.parse(readFileSync(readyFile, "utf8")) as ReadyDocument;
const stopped = new AbortController();
process.once("disconnect", () => stopped.abort());
// Sockets that the attacked side cuts off fail in ways that an attack does not care about.
process.on("uncaughtException", (error) => process.stderr.write(`${attack.name}: ${error.message}\n`));
process.send?.("started");
await attack.run(ready, stopped.signal, JSON.parse(accounts));
