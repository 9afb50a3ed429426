import type { TestReseller } from "../harness/gateway.ts";
import { type Scenario, type Scenarios, wrongPaging } from "./scenario.ts";

const nobodys = "wh_00000000000000000000";

/** A webhook that is disabled, and has a delivery of `evt_1_1_1`. @returns its id */
export async function insertWebhook(query: (text: string) => Promise<unknown>, { id }: TestReseller): Promise<string> {
  const code = "wh_0123456789abcdef0123";
  await query(
    `WITH made AS (
       INSERT INTO webhooks (webhook_code, reseller_id, url, description, scopes, secret_sealed, is_enabled, era, transaction, number, created_at)
       VALUES ('${code}', ${id}, 'https://a.example/', '', '{}', '', false, 1, '0', 0, now()) RETURNING id)
     INSERT INTO webhook_deliveries (webhook_id, event_id, type, body, created_at, next_at, ends_at)
     SELECT id, 'evt_1_1_1', 'domain.left', '{}', now(), now(), now() FROM made`,
  );
  return code;
}

/** @param own a webhook of the reseller that sends, which is disabled and has a delivery of `evt_1_1_1` */
export function webhookScenarios({ rival, own }: { rival: TestReseller; own: string }): Scenarios {
  const path = `/webhooks/${own}`;
  const missing = (more: string, body?: object): Scenario[] => [
    { target: `/webhooks/${nobodys}${more}`, body },
    { target: `/webhooks/x${more}`, body },
    { target: `/webhooks/x%00${more}`, body },
    { as: rival, target: `${path}${more}`, body },
  ];
  const wrongFields = (target: string): Scenario[] => [
    { target, says: /empty/ },
    ...["", "http", "ftp://a.example/", "https://me@a.example/", "https://a.example/#x"].map((url) => ({
      target,
      body: { url },
      fields: ["url"],
    })),
    ...["https://10.1.2.3/", "https://[::1]/", "https://169.254.169.254/latest", "https://192.168.1.1:8443/"].map(
      (url) => ({
        target,
        body: { url },
        fields: ["url"],
        says: /There is no public address for/,
      }),
    ),
    { target, body: { url: 7 }, fields: ["url"] },
    ...["url", "description"].map((field) => ({
      target,
      body: { url: "http://127.0.0.1:1/", [field]: "http://a\0b/" },
      fields: [field],
      says: /NUL/,
    })),
    { target, body: { url: "http://127.0.0.1:1/", types: ["domain.gone"] }, fields: ["types"] },
    { target, body: { url: "http://127.0.0.1:1/", types: "domain.*" }, fields: ["types"] },
    { target, body: { url: "http://127.0.0.1:1/", description: "x".repeat(201) }, fields: ["description"] },
  ];
  return {
    "POST /webhooks": {
      bad_request: [...wrongFields("/webhooks"), { target: "/webhooks", body: {}, fields: ["url"] }],
    },
    "GET /webhooks/:webhook_id": { webhook_not_found: missing("") },
    "PUT /webhooks/:webhook_id": {
      bad_request: [...wrongFields(path), { target: path, body: { enabled: "yes" }, fields: ["enabled"] }],
      webhook_not_found: missing("", {}),
    },
    "DELETE /webhooks/:webhook_id": { webhook_not_found: missing("") },
    "POST /webhooks/:webhook_id/secret": { webhook_not_found: missing("/secret") },
    "POST /webhooks/:webhook_id/test": {
      webhook_not_found: missing("/test"),
      webhook_disabled: [{ target: `${path}/test` }],
    },
    "GET /webhooks/:webhook_id/deliveries": {
      invalid_paging_request: wrongPaging.map((query) => ({ target: `${path}/deliveries?${query}` })),
      bad_request: ["", "x", "Failed&status=Pending"].map((status) => ({
        target: `${path}/deliveries?status=${status}`,
        fields: ["status"],
      })),
      webhook_not_found: missing("/deliveries"),
    },
    "POST /webhooks/:webhook_id/deliveries/:event_id/resend": {
      webhook_not_found: missing("/deliveries/evt_1_1_1/resend"),
      webhook_delivery_not_found: ["evt_2_2_2", "evt%00"].map((id) => ({ target: `${path}/deliveries/${id}/resend` })),
      webhook_disabled: [{ target: `${path}/deliveries/evt_1_1_1/resend` }],
    },
  };
}
