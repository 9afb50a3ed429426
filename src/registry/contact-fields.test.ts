import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#lib/secret.ts";
import {
  contactFieldElements,
  contactFieldNamespaces,
  fitsField,
  readContactFields,
} from "#registry/contact-fields.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { writeXml, writeXmlRedacted } from "#registry/epp/xml/writer.ts";
import { parseXml } from "#registry/epp/xml/xml.ts";

const inContact = (content: string) =>
  `<nic:create xmlns:nic="urn:nic-1.0"><nic:contact>${content}</nic:contact></nic:create>`;
const fields = [
  { name: "tax_number", pattern: "[A-Z]{2}[0-9]+", element: inContact("<nic:tax>{value}</nic:tax>") },
  { name: "birth", element: inContact('<nic:date type="birth">{value}</nic:date>') },
  { name: "death", element: inContact('<nic:date type="death">{value}</nic:date>') },
  { name: "kind", element: '<o:kind xmlns:o="urn:other-1.0">{value}</o:kind>' },
];
const values = [
  { name: "kind", value: "person & more" },
  { name: "birth", value: new Secret("1815-12-10") },
  { name: "tax_number", value: new Secret("GB123") },
  { name: "unknown", value: "left out" },
];

test("values go into the elements of the profile, in its order, and elements that begin alike are one", () => {
  const xml = contactFieldElements(fields, values).map((element) => writeXml(element).replace(/<\?.*\?>/, ""));
  assert.deepEqual(xml, [
    '<nic:create xmlns:nic="urn:nic-1.0"><nic:contact><nic:tax>GB123</nic:tax><nic:date type="birth">1815-12-10</nic:date></nic:contact></nic:create>',
    '<other:kind xmlns:other="urn:other-1.0">person &amp; more</other:kind>',
  ]);
  assert.deepEqual(contactFieldElements(fields, []), []);
  assert.deepEqual(contactFieldNamespaces(fields), ["urn:nic-1.0", "urn:other-1.0"]);
});

test("a create with such elements fits the schemas, and its trace does not show the values", async () => {
  const validate = await loadFrameValidator();
  const frame = contactCreate({
    id: "DH1",
    postalInfo: { type: "int", name: "Ada", street: ["Mews 7"], city: "London", cc: "GB" },
    email: "ada@mail.example",
    authInfo: new Secret("x"),
    extensions: contactFieldElements(fields, values),
  }).frame("ABC-1");
  validate(writeXml(frame));
  assert.doesNotMatch(writeXmlRedacted(frame), /GB123|1815/);
});

test("values are read from elements of the same name and attributes, wherever they are", () => {
  const shown = parseXml(
    '<extension xmlns="urn:ietf:params:xml:ns:epp-1.0"><x:infData xmlns:x="urn:nic-1.0"><x:date type="death">1852</x:date><x:tax> GB123 </x:tax><x:date/></x:infData></extension>',
  );
  assert.deepEqual(readContactFields(fields, shown), [
    { name: "tax_number", value: "GB123" },
    { name: "death", value: "1852" },
  ]);
  assert.deepEqual(readContactFields(fields, undefined), []);
});

test("a pattern fits the whole value", () => {
  const [tax, birth] = fields;
  const fits = ["GB123", "GB123 ", "xGB123", "GB"].map((value) => fitsField(tax!, value));
  assert.deepEqual(fits, [true, false, false, false]);
  assert.equal(fitsField(birth!, "whatever"), true);
});
