import { contactUri, domainUri, eppUri, hostUri } from "./namespaces.ts";
import { type ResultCode, resultTexts } from "./result-codes.ts";
import { extensionUrisOf, objectUrisOf } from "./services.ts";
import { type Settings, serverId } from "./settings.ts";
import { type Content, type Markup, optionalTag, tag } from "./xml.ts";

function frame(content: Markup): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n${tag("epp", { xmlns: eppUri }, content).markup}`;
}

/** The greeting of RFC 5730 §2.4: version 1.0, English, the objects and extensions of the settings. */
export function greeting(now: Date, settings: Settings): string {
  const extensionUris = extensionUrisOf(settings);
  return frame(
    tag(
      "greeting",
      {},
      tag("svID", {}, serverId),
      tag("svDate", {}, now.toISOString()),
      tag(
        "svcMenu",
        {},
        tag("version", {}, "1.0"),
        tag("lang", {}, "en"),
        objectUrisOf(settings).map((uri) => tag("objURI", {}, uri)),
        extensionUris.length > 0
          ? tag(
              "svcExtension",
              {},
              extensionUris.map((uri) => tag("extURI", {}, uri)),
            )
          : [],
      ),
      tag(
        "dcp",
        {},
        tag("access", {}, tag("all")),
        tag(
          "statement",
          {},
          tag("purpose", {}, tag("prov")),
          tag("recipient", {}, tag("ours")),
          tag("retention", {}, tag("stated")),
        ),
      ),
    ),
  );
}

export interface AnswerParts {
  code: ResultCode;
  /** The reason for a refusal: in `<extValue>`, with the object that it concerns. */
  reason?: string | undefined;
  object?: { uri: string; name: string } | undefined;
  resData?: Markup | undefined;
  msgQ?: Markup | undefined;
  extension?: Markup[] | undefined;
  clTRID?: string | undefined;
  svTRID: string;
}

/** The response of RFC 5730 §2.6. */
export function response({ code, reason, object, resData, msgQ, extension, clTRID, svTRID }: AnswerParts): string {
  return frame(
    tag(
      "response",
      {},
      tag("result", { code: String(code) }, tag("msg", {}, resultTexts[code]), explain(reason, object)),
      msgQ ?? [],
      resData ? tag("resData", {}, resData) : [],
      extension && extension.length > 0 ? tag("extension", {}, extension) : [],
      transactionIds("trID", clTRID, svTRID),
    ),
  );
}

/** `<trID>`, and `<domain:paTRID>`, which has the same parts in the epp namespace. */
export function transactionIds(name: string, clTRID: string | undefined, svTRID: string): Markup {
  return tag(name, {}, optionalTag("clTRID", clTRID), tag("svTRID", {}, svTRID));
}

function explain(reason: string | undefined, object: AnswerParts["object"]): Content {
  if (reason === undefined) return [];
  const elements: Record<string, string> = { [domainUri]: "name", [contactUri]: "id", [hostUri]: "name" };
  const local = object && elements[object.uri];
  const subject = object && local ? tag(local, { xmlns: object.uri }, object.name) : tag("undef");
  return tag("extValue", {}, tag("value", {}, subject), tag("reason", {}, reason.replace(/\s+/g, " ")));
}
