import { effectOf } from "../labels.ts";
import { feeUri } from "../namespaces.ts";
import type { CommandContext } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { registrationYearsMax, type Settings } from "../settings.ts";
import { childrenOf, findChild, type Markup, optionalTag, tag, tokenOf, type XmlElement } from "../xml.ts";

const monthsPerYear = 12;

/** Commands with a price per year; a restore has a fixed price, delete and update are free. */
const yearlyCommands = new Set(["create", "renew", "transfer"]);

/** Whether the label of the name gives this command a premium price. */
function isPremium(name: string, command: string, settings: Settings): boolean {
  const { isPremium: isLabelled, verb = "create" } = effectOf(name, settings);
  return isLabelled === true && (verb === "create" ? yearlyCommands.has(command) : verb === command);
}

/** Whether the command uses the fee extension. */
export function findFee(extensions: readonly XmlElement[]): XmlElement | undefined {
  return extensions.find(({ uri }) => uri === feeUri);
}

function feeOf(settings: Settings, name: string, command: string, years: number): number {
  const { premiumAmount, restoreAmount, standardAmount } = settings;
  const isOwn = isPremium(name, command, settings);
  if (command === "restore") return isOwn ? premiumAmount : restoreAmount;
  if (!yearlyCommands.has(command)) return 0;
  return years * (isOwn ? premiumAmount : standardAmount);
}

function amount(value: number): string {
  return value.toFixed(2);
}

/**
 * The fee of a transform that the client agrees to, for the response. Refuses with 2004 too small a sum or another currency
 * (RFC 8748 §4). Undefined if the command has no fee, which the caller must judge. With `feeDemanded` a command that costs
 * something needs its fee (2003), and exactly this one (2004).
 */
export function agreedFee(
  { registry: { settings }, session, extensions }: Pick<CommandContext, "registry" | "session" | "extensions">,
  name: string,
  command: "create" | "renew" | "transfer" | "restore" | "update",
  months: number,
): Markup[] | undefined {
  const offered = findFee(extensions);
  const fee = feeOf(settings, name, command, months / monthsPerYear);
  const isDemanded = settings.feeDemanded && fee > 0 && session.services.has(feeUri);
  if (!offered) {
    if (isDemanded) throw new Refusal(2003, "the command needs its fee");
    return undefined;
  }
  const currency = findChild(offered, "currency");
  if (currency && tokenOf(currency) !== settings.feeCurrency) {
    throw new Refusal(2004, `fees are in ${settings.feeCurrency}`);
  }
  const parts = [...childrenOf(offered, "fee"), ...childrenOf(offered, "credit")];
  const sum = parts.reduce((total, part) => total + Number(tokenOf(part)), 0);
  if (sum < fee || (isDemanded && sum > fee))
    throw new Refusal(2004, `the fee is ${amount(fee)} ${settings.feeCurrency}`);
  const dataNames = { create: "creData", renew: "renData", transfer: "trnData", restore: "updData", update: "updData" };
  return [
    tag(
      `fee:${dataNames[command]}`,
      { "xmlns:fee": feeUri },
      tag("fee:currency", {}, settings.feeCurrency),
      tag("fee:fee", {}, amount(fee)),
    ),
  ];
}

/** `<fee:chkData>` for the names of a check (RFC 8748 §5.1.1). Refuses a launch phase with 2004, because there are none. */
export function feeCheckData(settings: Settings, check: XmlElement, names: readonly string[]): Markup {
  const commands = childrenOf(check, "command");
  if (commands.some(({ attributes }) => attributes.phase !== undefined || attributes.subphase !== undefined)) {
    throw new Refusal(2004, "there are no launch phases");
  }
  const currency = findChild(check, "currency");
  const isForeign = currency !== undefined && tokenOf(currency) !== settings.feeCurrency;
  return tag(
    "fee:chkData",
    { "xmlns:fee": feeUri },
    tag("fee:currency", {}, settings.feeCurrency),
    names.map((name) =>
      isForeign ? unknownFees(name, `fees are in ${settings.feeCurrency}`) : feesOf(settings, name, commands),
    ),
  );
}

function unknownFees(name: string, reason: string): Markup {
  return tag("fee:cd", { avail: "0" }, tag("fee:objID", {}, name), tag("fee:reason", {}, reason));
}

function feesOf(settings: Settings, name: string, commands: XmlElement[]): Markup {
  const { premiumClass } = settings;
  const commandNames = commands.map(({ attributes }) => attributes.name ?? "");
  const isSaidToBePremium =
    premiumClass === "premium" &&
    ["create", ...commandNames].some((command) => isPremium(name.toLowerCase(), command, settings));
  const isStandard = premiumClass !== "none" && !isSaidToBePremium;
  const lines = commands.map((asked) => commandFee(settings, name.toLowerCase(), isStandard, asked));
  return tag(
    "fee:cd",
    { avail: lines.every(({ isKnown }) => isKnown) ? "1" : "0" },
    tag("fee:objID", {}, name),
    premiumClass === "none" ? [] : tag("fee:class", {}, isSaidToBePremium ? "premium" : "standard"),
    lines.map(({ line }) => line),
  );
}

function commandFee(
  settings: Settings,
  name: string,
  isStandard: boolean,
  asked: XmlElement,
): { isKnown: boolean; line: Markup } {
  const command = asked.attributes.name ?? "";
  const period = findChild(asked, "period");
  const unit = period?.attributes.unit ?? "y";
  const count = period ? Number(tokenOf(period)) : 1;
  const years = unit === "y" ? count : count / monthsPerYear;
  let reason: string | undefined;
  if (command === "custom") reason = "no such command";
  else if (!Number.isInteger(years)) reason = "only whole years";
  else if (years > registrationYearsMax) reason = `at most ${registrationYearsMax} years`;
  const fee = reason === undefined ? feeOf(settings, name, command, years) : 0;
  const line = tag(
    "fee:command",
    { name: command, standard: isStandard ? "1" : undefined },
    command === "restore" ? [] : tag("fee:period", { unit }, String(count)),
    fee > 0 ? tag("fee:fee", {}, amount(fee)) : [],
    optionalTag("fee:reason", reason),
  );
  return { isKnown: reason === undefined, line };
}
