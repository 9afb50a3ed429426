import type { Attack } from "../attack.ts";
import { sendAs } from "../sign.ts";

const [accountsCount, requestsAtOnce] = [4, 15];

export const attack: Attack = {
  name: "silent-names",
  about: `four accounts make webhooks with ${requestsAtOnce} requests at once each, to names whose name servers never answer`,
  victim: "webhook-delivery",
  accountsCount,
  async run(ready, signal, accounts) {
    let count = 0;
    const makeAll = async (account: (typeof accounts)[number]) => {
      while (!signal.aborted) {
        count += 1;
        await sendAs(ready, account, "POST", "/webhooks", { url: `http://n${count}.silent.example/` });
      }
    };
    await Promise.all(accounts.flatMap((account) => Array.from({ length: requestsAtOnce }, () => makeAll(account))));
  },
};
