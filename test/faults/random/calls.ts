/** Every call about a registered name, with random contents. */
import { ada } from "../../harness/contacts.ts";
import type { TestGateway, TestReseller } from "../../harness/gateway.ts";

export interface Caller {
  gateway: TestGateway;
  reseller: TestReseller;
  /** Other names, also of other resellers: their hosts may serve the caller's. */
  othersThan(name: string): readonly string[];
  random: (limit: number) => number;
}

export interface Call {
  method: "PUT" | "POST" | "DELETE";
  target: string;
  body?: object;
  /** Costs money, or ends the name: one of each name at a time. */
  isPaid?: true;
  /** What the API may answer besides 202, to a name that is in the portfolio. */
  refusals?: readonly number[];
}

type RequestFor = (caller: Caller, name: string) => Call | Promise<Call>;

const put = (name: string, path: string, body: object): Call => ({
  method: "PUT",
  target: `/domains/${name}/${path}`,
  body,
});

const contact = (number: number) => ({ ...ada, email: `ada-${number}@quillfeather.example` });

/** By the kind of order that a call places. */
export const requests: Readonly<Record<string, RequestFor>> = {
  "transfer-lock": ({ random }, name) => put(name, "transfer-lock", { transfer_locked: random(3) === 0 }),
  nameservers: ({ random, othersThan }, name) => {
    const foreign = othersThan(name).map((other) => ({ name: `ns1.${other}` }));
    const own = ["ns1", "ns2"].map((label) => {
      return { name: `${label}.${name}`, addresses: [`9.9.9.${1 + random(3)}`, `2620:fe::${1 + random(3)}`] };
    });
    const servers = [...own, { name: "ns1.dns-host.net" }, { name: "ns2.dns-host.net" }];
    const used = foreign.length > 0 && random(2) === 0 ? [foreign[random(foreign.length)]!] : [];
    const name_servers = [...servers.filter(() => random(2) === 0), ...used];
    // A host below another name of the caller's may have no addresses yet.
    return { ...put(name, "nameservers", { name_servers }), refusals: [400] };
  },
  dnssec: ({ random }, name) => {
    const records = ["A", "B", "C"].map((digit, index) => {
      return { key_tag: index + 1, algorithm: 13, digest_type: 2, digest: digit.repeat(64) };
    });
    return put(name, "dnssec", { ds: records.filter(() => random(2) === 0) });
  },
  contacts: ({ random }, name) => {
    const role = ["registrant", "admin", "tech"][random(3)]!;
    return put(name, "contacts", { [role]: contact(random(3)) });
  },
  // The portfolio says that the name is locked, or may not be transferred.
  "auth-code": (_caller, name) => ({ method: "POST", target: `/domains/${name}/auth-code`, refusals: [409] }),
  renew: async ({ gateway, reseller, random }, name) => {
    const { body } = await gateway.send(reseller, "GET", `/domains/${name}`);
    const { expiration_date = new Date(0).toISOString() } = body as { expiration_date?: string };
    return {
      method: "POST",
      target: `/domains/${name}/renewals`,
      body: { years: 1 + random(2), expiration_date },
      isPaid: true,
      // Another one is in progress, or was; or the name is registered for ten years.
      refusals: [409, 400],
    };
  },
  delete: (_caller, name) => ({ method: "DELETE", target: `/domains/${name}?confirm=${name}`, isPaid: true }),
  restore: (_caller, name) => ({
    method: "POST",
    target: `/domains/${name}/restores`,
    isPaid: true,
    // It was not deleted.
    refusals: [409],
  }),
  "transfer-answer": ({ random }, name) => {
    const body = random(2) === 0 ? { answer: "approve" } : { answer: "reject", reason: "unpaid" };
    return { method: "POST", target: `/domains/${name}/transfer-out`, body };
  },
};
