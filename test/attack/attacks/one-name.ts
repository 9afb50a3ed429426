import type { Attack } from "../attack.ts";
import { giveName, makeAccount } from "../own-account.ts";

const ordersAtOnce = 200;
const domainName = "crowded.example";

export const attack: Attack = {
  name: "one-name",
  about: `${ordersAtOnce} orders at once about one name, by an account of its own, again and again`,
  victim: "signed-write",
  async run(ready, signal, dataFolder) {
    const send = await makeAccount(ready, dataFolder);
    await giveName(ready, domainName);
    const orderOn = async () => {
      while (!signal.aborted) {
        const body = { transfer_locked: true };
        await send("PUT", `/domains/${domainName}/transfer-lock`, { body }).catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: ordersAtOnce }, orderOn));
  },
};
