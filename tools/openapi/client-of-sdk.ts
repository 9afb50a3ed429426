/** A client of the functions that openapi-ts makes of each operation. Prints what it got as JSON. */
import { client } from "./sdk/client.gen.js";
import { listDomains, readDomain, readDomainV2, readRegistration, registerDomain } from "./sdk/index.js";
import { sign } from "./sign.js";

const [baseUrl = "", key = "", secret = ""] = process.argv.slice(2);
client.setConfig({ baseUrl });
client.interceptors.request.use((request) => sign(request, { key, secret }));

const ordered = await registerDomain({
  headers: { "Idempotency-Key": "first" },
  body: { domain_name: "hello.example", years: 1 },
});
const order_code = ordered.response?.headers.get("location")?.split("/").at(-1) ?? "";

let status = "NotProvisioned";
while (["NotProvisioned", "Processing", "Pending"].includes(status)) {
  const order = await readRegistration({ path: { order_code }, headers: { Prefer: "wait=5" } });
  status = order.data?.status ?? "none";
}

const domain = await readDomain({ path: { domain_name: "hello.example" } });
const hosts: string[] | undefined = domain.data?.name_servers.map(({ name }) => name);
const ofV2 = await readDomainV2({ path: { domain_name: "hello.example" } });
const list = await listDomains({ query: { take: 1, will_renew: true } });
const absent = await readDomain({ path: { domain_name: "nobodys.example" } });

// @ts-expect-error: a name has to be given.
const mistake: Parameters<typeof readDomain>[0] = { path: {} };

console.log(
  JSON.stringify({
    ordered: ordered.response?.status,
    status,
    name: domain.data?.domain_name,
    hosts,
    registrant: ofV2.data?.registrant.city,
    listed: list.data?.map(({ domain_name }) => domain_name),
    code: absent.error?.error_code,
    mistake: Object.keys(mistake),
  }),
);
