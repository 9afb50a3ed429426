import { runSql } from "../../harness/sql.ts";
import type { Attack } from "../attack.ts";
import { sendAs } from "../sign.ts";

const ordersAtOnce = 200;
const domainName = "crowded.example";

export const attack: Attack = {
  name: "one-name",
  about: `${ordersAtOnce} orders at once about one name, by an account of its own, again and again`,
  victim: "signed-write",
  accountsCount: 1,
  async run(ready, signal, [account]) {
    await runSql(
      ready.database_url,
      `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status)
       SELECT $1, reseller_id, 'sandbox', now(), now() + interval '1 year', now() + interval '1 year', true, 'ok'
       FROM api_keys WHERE id = $2`,
      [domainName, account!.api_key],
    );
    const orderOn = async () => {
      while (!signal.aborted) {
        const body = { transfer_locked: true };
        await sendAs(ready, account!, "PUT", `/domains/${domainName}/transfer-lock`, body).catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: ordersAtOnce }, orderOn));
  },
};
