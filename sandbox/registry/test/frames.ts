/** Frames as a client writes them, with parameters for what differs between tests. */

const epp = 'xmlns="urn:ietf:params:xml:ns:epp-1.0"';
const domain = 'xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"';
const contact = 'xmlns:contact="urn:ietf:params:xml:ns:contact-1.0"';

export const hostUri = "urn:ietf:params:xml:ns:host-1.0";
export const rgpUri = "urn:ietf:params:xml:ns:rgp-1.0";
export const secDnsUri = "urn:ietf:params:xml:ns:secDNS-1.1";
export const feeUri = "urn:ietf:params:xml:ns:epp:fee-1.0";
export const domainUri = "urn:ietf:params:xml:ns:domain-1.0";
export const contactUri = "urn:ietf:params:xml:ns:contact-1.0";

export const helloFrame = `<epp ${epp}><hello/></epp>`;

export function commandFrame(content: string, clTRID = "test-1"): string {
  return `<epp ${epp}><command>${content}<clTRID>${clTRID}</clTRID></command></epp>`;
}

/** A command with an `<extension>`. */
export function extended(frame: string, ...extensions: string[]): string {
  return frame.replace("<clTRID>", `<extension>${extensions.join("")}</extension><clTRID>`);
}

export interface LoginChanges {
  newPassword?: string;
  language?: string;
  objects?: string[];
  extension?: string | string[];
  /** The content of the command's `<extension>`. */
  extensionData?: string;
}

const loginSec = "urn:ietf:params:xml:ns:epp:loginSec-1.0";

/** Passwords in the extension of RFC 8807, and the login that refers to them. */
export function secureLoginFrame(registrar: string, password: string, newPassword?: string): string {
  const newPW = newPassword ? `<loginSec:newPW>${newPassword}</loginSec:newPW>` : "";
  return loginFrame(registrar, "[LOGIN-SECURITY]", {
    ...(newPassword && { newPassword: "[LOGIN-SECURITY]" }),
    extension: loginSec,
    extensionData: `<loginSec:loginSec xmlns:loginSec="${loginSec}"><loginSec:pw>${password}</loginSec:pw>${newPW}</loginSec:loginSec>`,
  });
}

export function loginFrame(registrar: string, password: string, changes: LoginChanges = {}): string {
  const {
    newPassword,
    language = "en",
    objects = [domainUri, contactUri],
    extension = [],
    extensionData = "",
  } = changes;
  const newPW = newPassword ? `<newPW>${newPassword}</newPW>` : "";
  const uris = objects.map((uri) => `<objURI>${uri}</objURI>`).join("");
  const extensionUris = [extension].flat().map((uri) => `<extURI>${uri}</extURI>`);
  const svcExtension = extensionUris.length > 0 ? `<svcExtension>${extensionUris.join("")}</svcExtension>` : "";
  return commandFrame(
    `<login><clID>${registrar}</clID><pw>${password}</pw>${newPW}<options><version>1.0</version>` +
      `<lang>${language}</lang></options><svcs>${uris}${svcExtension}</svcs></login>` +
      (extensionData && `<extension>${extensionData}</extension>`),
    "login-1",
  );
}

export const logoutFrame = commandFrame("<logout/>", "logout-1");
export const pollFrame = commandFrame('<poll op="req"/>', "poll-1");

export function ackFrame(id: string): string {
  return commandFrame(`<poll op="ack" msgID="${id}"/>`, "ack-1");
}

export function checkFrame(...names: string[]): string {
  const list = names.map((name) => `<domain:name>${name}</domain:name>`).join("");
  return commandFrame(`<check><domain:check ${domain}>${list}</domain:check></check>`);
}

export interface CreateChanges {
  period?: string;
  /** "" for none. */
  registrant?: string;
  /** More children between registrant and authInfo. */
  contacts?: string;
  ns?: string;
  authInfo?: string;
  clTRID?: string;
}

export function createFrame(name: string, changes: CreateChanges = {}): string {
  const { period = "", registrant = "reg-1", contacts = "", ns = "", authInfo = "auth-1", clTRID } = changes;
  const owner = registrant && `<domain:registrant>${registrant}</domain:registrant>`;
  return commandFrame(
    `<create><domain:create ${domain}><domain:name>${name}</domain:name>${period}${ns}${owner}${contacts}` +
      `<domain:authInfo><domain:pw>${authInfo}</domain:pw></domain:authInfo></domain:create></create>`,
    clTRID,
  );
}

export function infoFrame(name: string, authInfo?: string): string {
  const pw = authInfo ? `<domain:authInfo><domain:pw>${authInfo}</domain:pw></domain:authInfo>` : "";
  return commandFrame(`<info><domain:info ${domain}><domain:name>${name}</domain:name>${pw}</domain:info></info>`);
}

export function deleteFrame(name: string): string {
  return commandFrame(`<delete><domain:delete ${domain}><domain:name>${name}</domain:name></domain:delete></delete>`);
}

export function renewFrame(name: string, curExpDate: string, years = 1): string {
  return commandFrame(
    `<renew><domain:renew ${domain}><domain:name>${name}</domain:name><domain:curExpDate>${curExpDate}` +
      `</domain:curExpDate><domain:period unit="y">${years}</domain:period></domain:renew></renew>`,
  );
}

export type TransferOp = "approve" | "cancel" | "query" | "reject" | "request";

export function transferFrame(op: TransferOp, name: string, authInfo?: string, period = ""): string {
  const pw = authInfo ? `<domain:authInfo><domain:pw>${authInfo}</domain:pw></domain:authInfo>` : "";
  return commandFrame(
    `<transfer op="${op}"><domain:transfer ${domain}><domain:name>${name}</domain:name>${period}${pw}` +
      "</domain:transfer></transfer>",
  );
}

/** `content` is add, rem and chg, with the prefix "domain". */
export function updateFrame(name: string, content: string): string {
  return commandFrame(
    `<update><domain:update ${domain}><domain:name>${name}</domain:name>${content}</domain:update></update>`,
  );
}

/** The report of a restore. */
export const restoreReport =
  "<rgp:report><rgp:preData>before</rgp:preData><rgp:postData>after</rgp:postData>" +
  "<rgp:delTime>2028-03-11T10:00:00Z</rgp:delTime><rgp:resTime>2028-03-12T10:00:00Z</rgp:resTime>" +
  "<rgp:resReason>Customer paid late.</rgp:resReason><rgp:statement>Not for ourselves.</rgp:statement></rgp:report>";

/** One step of a restore (RFC 3915 §4.2.5). */
export function restoreFrame(
  name: string,
  op: "request" | "report" = "request",
  report = op === "report" ? restoreReport : "",
): string {
  const restore = `<rgp:update xmlns:rgp="${rgpUri}"><rgp:restore op="${op}">${report}</rgp:restore></rgp:update>`;
  return extended(updateFrame(name, "<domain:chg/>"), restore);
}

/** `content` is what follows the name, with the prefix "host". */
export function hostFrame(verb: "check" | "create" | "delete" | "info" | "update", name: string, content = ""): string {
  return commandFrame(
    `<${verb}><host:${verb} xmlns:host="${hostUri}"><host:name>${name}</host:name>${content}</host:${verb}></${verb}>`,
  );
}

/** Name servers as host objects. */
export function hostObjects(...names: string[]): string {
  return `<domain:ns>${names.map((name) => `<domain:hostObj>${name}</domain:hostObj>`).join("")}</domain:ns>`;
}

export function contactFrame(verb: "check" | "delete" | "info", id: string, authInfo?: string): string {
  const pw = authInfo ? `<contact:authInfo><contact:pw>${authInfo}</contact:pw></contact:authInfo>` : "";
  return commandFrame(
    `<${verb}><contact:${verb} ${contact}><contact:id>${id}</contact:id>${pw}</contact:${verb}></${verb}>`,
  );
}

export function contactUpdateFrame(id: string, content: string): string {
  return commandFrame(
    `<update><contact:update ${contact}><contact:id>${id}</contact:id>${content}</contact:update></update>`,
  );
}

export function contactCreateFrame(id: string, changes: { cc?: string; email?: string } = {}): string {
  const { cc = "NL", email = "ada@example.test" } = changes;
  return commandFrame(
    `<create><contact:create ${contact}><contact:id>${id}</contact:id><contact:postalInfo type="int">` +
      "<contact:name>Ada Example</contact:name><contact:org>Example BV</contact:org><contact:addr>" +
      "<contact:street>Dam 1</contact:street><contact:city>Amsterdam</contact:city><contact:pc>1012 JS</contact:pc>" +
      `<contact:cc>${cc}</contact:cc></contact:addr></contact:postalInfo><contact:voice x="12">+31.201234567` +
      `</contact:voice><contact:email>${email}</contact:email><contact:authInfo><contact:pw>contact-auth` +
      "</contact:pw></contact:authInfo></contact:create></create>",
  );
}
