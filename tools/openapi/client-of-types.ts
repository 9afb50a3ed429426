/** A client of the types that openapi-typescript makes, with openapi-fetch. Prints what it got as JSON. */
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";
import { sign } from "./sign.js";

const [baseUrl = "", key = "", secret = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });
client.use({ onRequest: ({ request }) => sign(request, { key, secret }) });

const ordered = await client.POST("/domains/registrations", {
  params: { header: { "Idempotency-Key": "first" } },
  body: { domain_name: "hello.example", years: 1 },
});
const order_code = ordered.response.headers.get("location")?.split("/").at(-1) ?? "";

let status: components["schemas"]["RegistrationStatus"]["status"] | undefined = "NotProvisioned";
while (status === "NotProvisioned" || status === "Processing" || status === "Pending") {
  const params = { path: { order_code }, header: { Prefer: "wait=5" } };
  const order = await client.GET("/domains/registrations/{order_code}", { params });
  status = order.data?.status;
}

const domain = await client.GET("/domains/{domain_name}", { params: { path: { domain_name: "hello.example" } } });
const hosts: string[] | undefined = domain.data?.name_servers.map(({ name }) => name);
const ofV2 = await client.GET("/v2/domains/{domain_name}", { params: { path: { domain_name: "hello.example" } } });
const list = await client.GET("/domains", { params: { query: { take: 1, will_renew: true } } });
const absent = await client.GET("/domains/{domain_name}", { params: { path: { domain_name: "nobodys.example" } } });
const code: components["schemas"]["Error"]["error_code"] | undefined = absent.error?.error_code;

// @ts-expect-error: a number of years is no text.
const mistake: paths["/domains/registrations"]["post"]["requestBody"]["content"]["application/json"]["years"] = "1";
// @ts-expect-error: a domain has no such field.
domain.data?.domain;

console.log(
  JSON.stringify({
    ordered: ordered.response.status,
    status,
    name: domain.data?.domain_name,
    hosts,
    registrant: ofV2.data?.registrant.city,
    listed: list.data?.map(({ domain_name }) => domain_name),
    code,
    mistake,
  }),
);
