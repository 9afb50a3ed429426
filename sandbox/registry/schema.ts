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

/** Elements whose rejected value must not appear in a reason. */
const secretElements = /\}(?:pw|newPW|ext|authInfo)'/;

/** Compiled once per process: tests start many registries in one process, and compiling takes 20 ms. */
let compiled: XsdValidator | undefined;

function compileSchemas(): XsdValidator {
  const files: Record<string, Uint8Array> = {};
  for (const file of readdirSync(schemaFolder)) {
    if (file.endsWith(".xsd")) files[file] = readFileSync(join(schemaFolder, file));
  }
  // The schemas refer to each other by relative paths, which the provider serves from memory.
  xmlRegisterInputProvider(new XmlBufferInputProvider(files));
  try {
    using driver = XmlDocument.fromBuffer(files["all.xsd"]!, { url: "all.xsd" });
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
