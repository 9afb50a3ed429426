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

const schemaFolder = join(import.meta.dirname, "../../schemas/epp");

/** Elements whose rejected value must not be quoted in a reason. */
const secretElements = /\}(?:pw|newPW|ext|authInfo)'/;

/** Compiled once and kept as long as the process: tests start many registries in one, and compiling takes 20 ms. */
let compiled: XsdValidator | undefined;

function compileSchemas(): XsdValidator {
  const files: Record<string, Uint8Array> = {};
  for (const file of readdirSync(schemaFolder)) {
    if (file.endsWith(".xsd")) files[file] = readFileSync(join(schemaFolder, file));
  }
  // The schemas name each other by relative path; the provider answers those from memory, never from the disk.
  xmlRegisterInputProvider(new XmlBufferInputProvider(files));
  try {
    using driver = XmlDocument.fromBuffer(files["all.xsd"]!, { url: "all.xsd" });
    return XsdValidator.fromDoc(driver);
  } finally {
    xmlCleanupInputProvider();
  }
}

/** Checks a whole EPP frame against the RFCs' schemas: says why it is not valid, or nothing if it is. @param text that parseXml has accepted */
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
