import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { sleep } from "#lib/clock.ts";
import type { Attack } from "../attack.ts";
import { site } from "../victims.ts";

const sessionsCount = 100;
/** 127.1.0.0 and up: enough for each to take another when one is banned. */
const firstAddress = 0x7f_01_00_01;
const reconnectMs = 100;

export const attack: Attack = {
  name: "ftp-guesses",
  about: `${sessionsCount} FTP sessions, each from an address of its own that changes when it is banned, that guess passwords without pause, half of them the victim's`,
  victim: "ftp-login",
  async run({ ftp }, signal) {
    let addressesTaken = 0;
    const nextAddress = () => {
      const address = firstAddress + addressesTaken++;
      return [24, 16, 8, 0].map((bits) => (address >> bits) & 255).join(".");
    };
    /** Guesses over one connection until it is ended. @returns whether the address may continue */
    const guess = async (user: string, localAddress: string): Promise<boolean> => {
      const socket = connect({ ...ftp, localAddress }).on("error", () => {});
      const stop = () => socket.destroy();
      signal.addEventListener("abort", stop, { once: true });
      let isRefused = false;
      for await (const line of createInterface({ input: socket })) {
        isRefused = line.startsWith("421") && !line.includes("wrong passwords.");
        if (/^(220|530)/.test(line)) socket.write(`USER ${user}\r\n`);
        if (line.startsWith("331")) socket.write("PASS a guess\r\n");
      }
      signal.removeEventListener("abort", stop);
      if (!socket.closed) await once(socket, "close");
      return !isRefused;
    };
    const session = async (number: number) => {
      const user = number % 2 === 0 ? site.identifier : `nobody-${number}.example`;
      let address = nextAddress();
      while (!signal.aborted) {
        if (!(await guess(user, address))) address = nextAddress();
        await sleep(reconnectMs);
      }
    };
    await Promise.all(Array.from({ length: sessionsCount }, (_, number) => session(number)));
  },
};
