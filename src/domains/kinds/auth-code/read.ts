/** GET /domains/<domain_name>/auth-code: the code, until it expires. */
import Type, { type Static } from "typebox";
import { statement } from "#db/statement.ts";
import { secretRow } from "#domains/orders/order.ts";
import { ApiError } from "#errors.ts";
import { domainName, instant } from "#use-case/docs.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

const codeForOwner = statement(
  "auth-code-for-owner",
  `SELECT domain.domain_name, domain.registry_id, code.order_code, code.code_sealed, code.expires_at
   FROM domains AS domain LEFT JOIN auth_codes AS code ON code.domain_name = domain.domain_name AND code.expires_at > $now
   WHERE domain.reseller_id = $reseller_id AND domain.domain_name = $name`,
  { domain_name: "text", registry_id: "text", order_code: "text?", code_sealed: "bytea?", expires_at: "timestamptz?" },
);

const authCodeShape = Type.Object(
  { domain_name: domainName, auth_code: Type.String({ examples: ["f3Zk0v-aM2Qx9LpT"] }), expires_at: instant },
  { title: "AuthCode" },
);

export const readAuthCode: UseCase = {
  errors: ["domain_not_valid", "domain_not_found", "auth_code_not_found"],
  scope: "domains:transfer",
  docs: {
    operation: "readAuthCode",
    summary: "Reads the code with which another registrar can request a name's transfer, until it expires.",
    answers: { 200: { description: "The code.", body: authCodeShape } },
  },

  async handle({ database, clock, sealer, registries }, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    const { resellerId } = request.caller;
    const [row] = await database.query(codeForOwner, { reseller_id: resellerId, name, now: clock.now() });
    if (!row) throw new ApiError("domain_not_found");
    const { domain_name, registry_id, order_code, code_sealed, expires_at } = row;
    if (order_code === null || code_sealed === null) {
      const isSent = registries.find(({ id }) => id === registry_id)?.authInfo === "holder";
      const text = "The registry of this name sends its codes to the name's holder, and shows them to nobody else.";
      throw new ApiError("auth_code_not_found", isSent ? { text } : {});
    }
    const code = sealer.open(secretRow(order_code), code_sealed);
    const body: Static<typeof authCodeShape> = {
      domain_name,
      auth_code: code.reveal(),
      expires_at: expires_at!.toISOString(),
    };
    return { status: 200, body };
  },
};
