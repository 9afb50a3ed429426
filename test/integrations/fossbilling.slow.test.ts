/** The registrar adapter and the server manager for FOSSBilling. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { after, test } from "node:test";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { eventually } from "../harness/running-system.ts";
import { decide, decisionMs, installModules, ordersOf, runPhp, skip } from "./panel.ts";

const gateway = await startTestGateway(
  { after },
  { node: true, sandbox: { pendingDelayMs: decisionMs }, registry: { pollIntervalMs: 50 } },
);
const library = join(installModules({ after }, "fossbilling"), "library");
const pack = await gateway.addPack();
const reseller = await gateway.addReseller();
const secret = reseller.key.secret.reveal();

interface Said {
  answer?: Record<string, unknown> & (boolean | string);
  error?: string;
}
const contact = {
  FirstName: "Ada",
  LastName: "Byron",
  Email: "ada@mail.example",
  Address1: "Mews 7",
  City: "London",
  Zip: "EC1A 1BB",
  Country: "GB",
  TelCc: "44",
  Tel: "2079460001",
};
function startAdapter(method: string, name: string, values: object = {}, options: object = {}) {
  const [sld, ...rest] = name.split(".");
  return runPhp<Said>("fossbilling-stand-in.php", {
    module: join(library, "Registrar/Adapter/Deedhouse.php"),
    class: "Registrar_Adapter_Deedhouse",
    options: { url: gateway.url, apikey: reseller.key.id, apisecret: secret, ...options },
    order: 12,
    method,
    values: {
      Sld: sld,
      Tld: `.${rest.join(".")}`,
      RegistrationPeriod: 1,
      ContactRegistrar: contact,
      Ns1: "ns1.dns-host.net",
      Ns2: "ns2.dns-host.net",
      ...values,
    },
  });
}
const adapter = (...call: Parameters<typeof startAdapter>) => startAdapter(...call).answered;
const manager = (method: string, domain: string, more: unknown[] = [], options: object = {}, values: object = {}) => {
  const { hostname, port } = new URL(gateway.url);
  return runPhp<Said>("fossbilling-stand-in.php", {
    module: join(library, "Server/Manager/Deedhouse.php"),
    class: "Server_Manager_Deedhouse",
    options: { host: hostname, port, username: reseller.key.id, password: secret, ...options },
    method,
    values: {
      Domain: domain,
      Username: domain,
      Password: "Quiet-Harbour-71",
      Client: { Email: "ada@mail.example" },
      Package: { CustomValues: { servicepack_id: pack } },
      ...values,
    },
    more,
  }).answered;
};
const done = { answer: true };

test("registers, shows and changes a name", { skip }, async () => {
  const name = "first.example";
  assert.deepEqual(await adapter("isDomainAvailable", name), done);
  assert.deepEqual(await adapter("registerDomain", name), done);
  assert.deepEqual(await adapter("isDomainAvailable", name), { answer: false });
  assert.deepEqual(await adapter("modifyNs", name, { Ns1: "ns3.dns-host.net" }), done);
  assert.deepEqual(await adapter("lock", name), done);
  const { answer: shown } = await adapter("getDomainDetails", name, {
    ContactRegistrar: { Email: "old@mail.example" },
  });
  assert.equal(shown!.Locked, true);
  assert.deepEqual([shown!.Ns1, shown!.Ns2].sort(), ["ns2.dns-host.net", "ns3.dns-host.net"]);
  assert.ok(Number(shown!.ExpirationTime) > Number(shown!.RegistrationTime));
  assert.deepEqual(await adapter("unlock", name), done);
  assert.ok((await adapter("getEpp", name)).answer);
  assert.deepEqual(await adapter("modifyContact", name, { ContactRegistrar: { ...contact, City: "Oxford" } }), done);
  assert.deepEqual(await adapter("deleteDomain", name), done);
});

test("a registration is waited for, or continued by a repeat after an error or a crash", { skip }, async () => {
  const name = "pending-approve-foss.example";
  const { child } = startAdapter("registerDomain", name);
  await eventually("the order is there", async () => (await ordersOf(gateway, reseller, name, "create")).length > 0);
  child.kill("SIGKILL");
  await once(child, "close");
  assert.match(String((await adapter("registerDomain", name, {}, { waitseconds: "1" })).error), /still in progress/);
  const repeat = adapter("registerDomain", name);
  await decide(gateway, reseller, name, "create");
  assert.deepEqual(await repeat, done);
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 1);
});

test("activations at the same time order a name once", { skip }, async () => {
  const answers = await Promise.all([1, 2, 3].map(() => adapter("registerDomain", "clicked.example")));
  assert.deepEqual(answers, [done, done, done]);
  assert.equal((await ordersOf(gateway, reseller, "clicked.example", "create")).length, 1);
});

test("a name of another customer in the same account is refused", { skip }, async () => {
  const name = "contested.example";
  assert.deepEqual(await adapter("registerDomain", name), done);
  assert.deepEqual(await adapter("registerDomain", name), done);
  const other = await adapter("registerDomain", name, { ContactRegistrar: { ...contact, Email: "bob@mail.example" } });
  assert.match(String(other.error), /registered in this Deedhouse account already, for another registrant/);
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 1);
});

test("a failed registration gets an error, and a later activation orders it again", { skip }, async () => {
  const name = "pending-deny-foss.example";
  for (const count of [1, 2]) {
    const activation = adapter("registerDomain", name);
    await decide(gateway, reseller, name, "create");
    assert.match(String((await activation).error), /could not carry this out \(Errors\)/);
    assert.equal((await ordersOf(gateway, reseller, name, "create")).length, count);
  }
});

test("a term is renewed once, and the next term again", { skip }, async () => {
  const name = "yearly.example";
  await adapter("registerDomain", name);
  for (const count of [1, 2]) {
    const { answer: shown } = await adapter("getDomainDetails", name);
    const paid = { ExpirationTime: shown!.ExpirationTime };
    const answers = await Promise.all([1, 2].map(() => adapter("renewDomain", name, paid)));
    assert.deepEqual([...answers, await adapter("renewDomain", name, paid)], [done, done, done]);
    assert.equal((await ordersOf(gateway, reseller, name, "renew")).length, count);
  }
});

test("says what it cannot do", { skip }, async () => {
  assert.match(String((await adapter("transferDomain", "else.example")).error), /does not take over names/);
  assert.match(String((await adapter("enablePrivacyProtection", "else.example")).error), /no privacy protection/);
  assert.match(
    String((await adapter("registerDomain", "x.example", {}, { apisecret: "" })).error),
    /API secret is missing/,
  );
});

test("creates, changes and cancels a hosting account", { skip }, async () => {
  const name = "hosted.example";
  assert.deepEqual(await manager("testConnection", name), done);
  assert.match(String((await manager("testConnection", name, [], { password: "wrong" })).error), /signature/);
  assert.deepEqual(await manager("createAccount", name), done);
  assert.deepEqual(await manager("createAccount", name), done);
  assert.deepEqual(await manager("changeAccountPassword", name, ["Other-Harbour-72"]), done);
  const { answer } = await manager("synchronizeAccount", name);
  assert.equal(answer!.Suspended, false);
  assert.equal(answer!.Username, name);
  const other = { CustomValues: { servicepack_id: "999999" } };
  assert.match(
    String((await manager("changeAccountPackage", name, [other])).error),
    /no change of an account's service pack/,
  );
  assert.deepEqual(await manager("cancelAccount", name), done);
});

test("each activation of an order sets the password that FOSSBilling has drawn for it", { skip }, async () => {
  const name = "twice.example";
  assert.deepEqual(await manager("createAccount", name), done);
  const drawn = "Second-Harbour-72";
  assert.deepEqual(await manager("createAccount", name, [], {}, { Password: drawn }), done);
  const works = async () => {
    const ftp = { host: "127.0.0.1", port: gateway.node!.ports.ftpPort };
    const client = await logInFtp(ftp, name, drawn).catch(() => undefined);
    client?.close();
    return client !== undefined;
  };
  await eventually("the password works", works);
});

test("an account of another client's service is neither followed nor deleted", { skip }, async () => {
  const name = "others.example";
  assert.deepEqual(await manager("createAccount", name), done);
  const other = { Client: { Email: "bob@mail.example" }, Username: null };
  const { error } = await manager("createAccount", name, [], {}, other);
  assert.match(String(error), /not created for this service/);
  assert.deepEqual(await manager("cancelAccount", name, [], {}, other), done);
  const { body } = await gateway.send(reseller, "GET", `/hostingaccounts/${name}`);
  const { status, removal_requested_at: removal } = body as Record<string, unknown>;
  assert.deepEqual([status, removal], ["Ready", undefined]);
});

test("a hosting order can be uncancelled at once, and gets a new account", { skip }, async () => {
  const name = "renewed.example";
  assert.deepEqual(await manager("createAccount", name), done);
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await manager("cancelAccount", name), done);
    assert.deepEqual(await manager("createAccount", name), done);
    const { answer } = await manager("synchronizeAccount", name);
    assert.equal(answer!.Username, name);
  }
});

test("a suspended hosting order has no login and site until it is unsuspended", { skip }, async () => {
  const name = "unpaid.example";
  assert.deepEqual(await manager("createAccount", name), done);
  assert.deepEqual(await manager("suspendAccount", name), done);
  assert.equal((await manager("synchronizeAccount", name)).answer!.Suspended, true);
  assert.deepEqual(await manager("unsuspendAccount", name), done);
  assert.equal((await manager("synchronizeAccount", name)).answer!.Suspended, false);
});

test("a name whose deletion is in progress is registered again after it", { skip }, async () => {
  const name = "regretted.example";
  assert.deepEqual(await adapter("registerDomain", name), done);
  await gateway.stopWorker();
  assert.match(String((await adapter("deleteDomain", name, {}, { waitseconds: "1" })).error), /still in progress/);
  const repeat = adapter("registerDomain", name);
  await gateway.startWorker();
  assert.deepEqual(await repeat, done);
  assert.equal((await ordersOf(gateway, reseller, name, "create")).length, 2);
  const { status } = await gateway.send(reseller, "GET", `/domains/${name}`);
  assert.equal(status, 200);
});

test("a contact's phone number is written as it is called from abroad, and shown so", { skip }, async () => {
  for (const [index, [given, expected]] of (
    [
      [{ TelCc: "44", Tel: "020 7946 0001" }, ["44", "2079460001"]],
      [{ TelCc: "39", Tel: "06 6982 1234" }, ["39", "0669821234"]],
      [{ TelCc: "44", Tel: "+39 06 6982 1234" }, ["39", "0669821234"]],
    ] as const
  ).entries()) {
    const name = `phone-${index}.example`;
    assert.deepEqual(await adapter("registerDomain", name, { ContactRegistrar: { ...contact, ...given } }), done);
    const { answer: shown } = await adapter("getDomainDetails", name);
    const { TelCc, Tel } = (shown!.ContactRegistrar as unknown as { values: Record<string, string> }).values;
    assert.deepEqual([TelCc, Tel], expected);
  }
});
