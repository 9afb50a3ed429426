/** The contact forms of WHMCS. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { createWhmcs, installModules, skip } from "./panel.ts";

const gateway = await startTestGateway({ after });
const folder = installModules({ after }, "whmcs");
const done = { success: true };

async function stage(name: string, order: object = {}) {
  const reseller = await gateway.addReseller();
  const whmcs = createWhmcs(folder, gateway, reseller);
  assert.deepEqual(await whmcs.domain("RegisterDomain", name, { ...order }), done);
  const contacts = async () => {
    const { body } = await gateway.send(reseller, "GET", `/domains/${name}/contacts`);
    return body as unknown as Record<string, Record<string, string>>;
  };
  const save = (contactdetails: object) => whmcs.domain("SaveContactDetails", name, { contactdetails });
  return { whmcs, contacts, save };
}

test("a form has the labels of WHMCS' sample module, and is saved as it was shown", { skip }, async () => {
  const { whmcs, contacts, save } = await stage("form.example");
  const before = await contacts();
  const form = (await whmcs.domain("GetContactDetails", "form.example")) as unknown as Record<string, object>;
  assert.deepEqual(Object.keys(form), ["Registrant", "Admin", "Technical"]);
  assert.deepEqual(Object.entries(form.Registrant!), [
    ["First Name", "Ada"],
    ["Last Name", "Byron"],
    ["Company Name", ""],
    ["Email Address", "ada@mail.example"],
    ["Address 1", "Mews 7"],
    ["Address 2", ""],
    ["City", "London"],
    ["State", ""],
    ["Postcode", "EC1A 1BB"],
    ["Country", "GB"],
    ["Phone Number", "+44.2079460001"],
    ["Fax Number", ""],
  ]);
  assert.deepEqual(await save(form), done);
  assert.deepEqual(await contacts(), before);
});

test("every field of the form is changed", { skip }, async () => {
  const { contacts, save } = await stage("changed.example");
  const Registrant = {
    "First Name": "Grace",
    "Last Name": "Hopper",
    "Company Name": "Compilers Ltd",
    "Email Address": "grace@mail.example",
    "Address 1": "Harbour Street 3",
    "Address 2": "Floor 2",
    City: "Rome",
    State: "RM",
    Postcode: "00184",
    Country: "IT",
    "Phone Number": "+39.0669821234",
    "Fax Number": "+39.0669821235",
  };
  assert.deepEqual(await save({ Registrant }), done);
  assert.deepEqual((await contacts()).registrant, {
    first_name: "Grace",
    last_name: "Hopper",
    company_name: "Compilers Ltd",
    email: "grace@mail.example",
    phone: "+39.0669821234",
    fax: "+39.0669821235",
    address: "Harbour Street 3 Floor 2",
    postal_code: "00184",
    city: "Rome",
    state: "RM",
    country_code: "IT",
  });
});

test("a contact of the client's account is taken with all the labels that WHMCS sends for it", { skip }, async () => {
  const { contacts, save } = await stage("chosen.example");
  const address = { Address: "Pier 9", "Address 1": "Pier 9", Street: "Pier 9", "Address 2": "Flat 1" };
  const Admin = {
    "First Name": "Alan",
    "Last Name": "Turing",
    "Full Name": "Alan Turing",
    "Contact Name": "Alan Turing",
    Email: "alan@mail.example",
    "Email Address": "alan@mail.example",
    "Job Title": "",
    "Company Name": "Codes Ltd",
    "Organisation Name": "Codes Ltd",
    ...address,
    City: "Bletchley",
    State: "Bucks",
    County: "Bucks",
    Region: "Bucks",
    Postcode: "MK3 6EB",
    "ZIP Code": "MK3 6EB",
    ZIP: "MK3 6EB",
    Country: "GB",
    Phone: "+44.01908640404",
    "Phone Number": "+44.01908640404",
    "Phone Country Code": "44",
    "phone-normalised": true,
  };
  assert.deepEqual(await save({ Admin }), done);
  const { admin, registrant } = await contacts();
  assert.deepEqual(admin, {
    first_name: "Alan",
    last_name: "Turing",
    company_name: "Codes Ltd",
    email: "alan@mail.example",
    phone: "+44.1908640404",
    address: "Pier 9 Flat 1",
    postal_code: "MK3 6EB",
    city: "Bletchley",
    state: "Bucks",
    country_code: "GB",
  });
  assert.equal(registrant!.last_name, "Byron");
});

test("a form with a full name and a national phone number is divided", { skip }, async () => {
  const { contacts, save } = await stage("full-name.example");
  const Technical = { "Full Name": "Mary Ann Evans", Phone: "020 7946 0002", "Phone Country Code": "44" };
  assert.deepEqual(await save({ Technical }), done);
  const { tech } = await contacts();
  assert.deepEqual([tech!.first_name, tech!.last_name, tech!.phone], ["Mary", "Ann Evans", "+44.2079460002"]);
  assert.equal(tech!.address, "Mews 7");
});

test("what Deedhouse has no field for is an error, and nothing is changed", { skip }, async () => {
  const { contacts, save } = await stage("unknown.example");
  const before = await contacts();
  const mistakes: [object, RegExp][] = [
    [
      { Registrant: { City: "Oxford", "Job Title": "Countess" } },
      /no field "Job Title".*It has First Name,.*Nothing was/,
    ],
    [{ Registrant: { City: "Oxford", "Address 1": "Mews 8", Street: "Mews 9" } }, /are one field at Deedhouse/],
    [{ Registrant: { "Last Name": "King", "Full Name": "Ada Byron" } }, /the full name differs/],
    [{ Owner: { City: "Oxford" } }, /no contact "Owner": it has Registrant, Admin, Technical, Billing/],
  ];
  for (const [form, words] of mistakes) assert.match(String((await save(form)).error), words);
  // The suffix has no such contact, and the service says so.
  const billing = { "First Name": "Ada", "Last Name": "Byron" };
  assert.match(String((await save({ Billing: billing })).error), /^Deedhouse refused this: .*billing/);
  assert.deepEqual(await contacts(), before);
});

test("an order's phone number is written as it is called from abroad", { skip }, async () => {
  for (const [index, [order, expected]] of (
    [
      [{ fullphonenumber: "+44.02079460001" }, "+44.2079460001"],
      [{ fullphonenumber: "+39.0669821234" }, "+39.0669821234"],
      [{ fullphonenumber: "", phonenumber: "020 7946 0001", phonecc: "44" }, "+44.2079460001"],
    ] as const
  ).entries()) {
    const { contacts } = await stage(`phone-${index}.example`, order);
    assert.equal((await contacts()).registrant!.phone, expected);
  }
});
