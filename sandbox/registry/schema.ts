import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XmlLibError,
  XsdValidator,
  xmlCleanupInputProvider,
  xmlRegisterInputProvider,
} from "libxml2-wasm";
import {
  authCodeUri,
  contactExtUri,
  dnsbeUri,
  domainExtUri,
  issuedAuthInfoUri,
  namestoreUri,
  sidnUri,
  taxNumberUri,
} from "./namespaces.ts";

const schemaFolder = join(import.meta.dirname, "../../schemas/epp");

const xsdUri = "http://www.w3.org/2001/XMLSchema";
/** The elements of single registries' extensions, whose schemas are not here: what they contain is only well-formed. */
const rootsOfFamilies: Readonly<Record<string, readonly string[]>> = {
  [namestoreUri]: ["namestoreExt"],
  [contactExtUri]: ["create", "infData"],
  [domainExtUri]: ["infData"],
  [issuedAuthInfoUri]: ["info", "infData"],
  [dnsbeUri]: ["ext"],
  [sidnUri]: ["ext"],
  [taxNumberUri]: ["create", "infData"],
  [authCodeUri]: ["request"],
};

/** Elements whose rejected value must not appear in a reason. */
const secretElements = /\}(?:pw|newPW|ext|authInfo|allocationToken)'/;

/** Compiled once per process: tests start many registries in one process, and compiling takes 20 ms. */
let compiled: XsdValidator | undefined;

function compileSchemas(): XsdValidator {
  const files: Record<string, Uint8Array> = {};
  for (const file of readdirSync(schemaFolder)) {
    if (file.endsWith(".xsd")) files[file] = readFileSync(join(schemaFolder, file));
  }
  const own = Object.entries(rootsOfFamilies).map(([uri, roots], index) => {
    const file = `family-${index}.xsd`;
    const elements = roots.map((root) => `<element name="${root}"/>`).join("");
    files[file] = Buffer.from(`<schema xmlns="${xsdUri}" targetNamespace="${uri}">${elements}</schema>`);
    return `<import namespace="${uri}" schemaLocation="${file}"/>`;
  });
  const driverXml = Buffer.from(files["all.xsd"]!).toString("utf8");
  const driverFile = Buffer.from(driverXml.replace("</schema>", `${own.join("")}</schema>`));
  // The schemas refer to each other by relative paths, which the provider serves from memory.
  xmlRegisterInputProvider(new XmlBufferInputProvider(files));
  try {
    using driver = XmlDocument.fromBuffer(driverFile, { url: "all.xsd" });
    return XsdValidator.fromDoc(driver);
  } finally {
    xmlCleanupInputProvider();
  }
}

/** Checks a whole EPP frame against the RFCs' schemas. @param text accepted by parseXml @returns why it is invalid; undefined if it is valid */
export function findSchemaFault(text: string): string | undefined {
  compiled ??= compileSchemas();
  try {
    using document = XmlDocument.fromString(text, { option: ParseOption.XML_PARSE_NO_XXE });
    compiled.validate(document);
    return undefined;
  } catch (error) {
    if (!(error instanceof XmlLibError)) throw error;
    const first = error.details[0]?.message.trim() ?? error.message.trim();
    return secretElements.test(first) ? "A password or authInfo is not as the schema wants it" : first;
  }
}
