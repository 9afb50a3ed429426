/** Allocation tokens (RFC 8495) and launch phases (RFC 8334), in checks and creates of names. */
import { effectOf } from "../labels.ts";
import { allocationTokenUri, launchUri } from "../namespaces.ts";
import type { CommandContext, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { findChild, type Markup, tag, tokenOf, type XmlElement } from "../xml.ts";

/** Why the token of a command, or its absence, makes the name unavailable (RFC 8495 §3.1.1). */
export function findTokenFault(
  { settings }: Registry,
  extensions: readonly XmlElement[],
  name: string,
): string | undefined {
  const token = extensions.find(({ uri }) => uri === allocationTokenUri);
  if (token) return tokenOf(token) === settings.allocationToken ? undefined : "Allocation Token mismatch";
  return effectOf(name, settings).needsToken ? "Allocation Token required" : undefined;
}

/** Refuses a create whose token does not fit with 2201 (RFC 8495 §3.2.1). */
export function requireToken({ registry, extensions }: CommandContext, name: string): void {
  const fault = findTokenFault(registry, extensions, name);
  if (fault !== undefined) throw new Refusal(2201, fault);
}

/** Refuses a create that the launch phase does not allow; applications and claims notices are not supported (2102). */
export function requireOpenPhase({ registry: { settings }, extensions }: CommandContext, name: string): void {
  if (extensions.some(({ uri }) => uri === launchUri)) throw new Refusal(2102, "there are no applications here");
  if (settings.launchPhase === "sunrise") throw new Refusal(2306, "Validation failed");
  if (isClaimed({ settings }, name)) throw new Refusal(2003, "Validation failed");
}

const isClaimed = ({ settings }: Pick<Registry, "settings">, name: string) =>
  settings.launchPhase === "claims" && effectOf(name, settings).isClaimed === true;

/** The phases that a check can name: the claims phase is also an open one here (RFC 8334 §2.3.1). */
const phasesAt = { open: ["open"], claims: ["claims", "open"], sunrise: ["sunrise"] };

/**
 * What a check is about (RFC 8334 §3.1): "claims" is answered with the names that need a notice, and nothing else. Refuses a
 * phase that is not the present one with 2306.
 */
export function launchCheckOf({ settings }: Registry, extensions: readonly XmlElement[]): "claims" | "availability" {
  const launch = extensions.find(({ uri }) => uri === launchUri);
  if (!launch) return "availability";
  const phase = findChild(launch, "phase");
  const type = launch.attributes.type ?? "claims";
  if (type === "trademark") throw new Refusal(2102, "no checks of trademarks");
  if (phase && !phasesAt[settings.launchPhase].includes(tokenOf(phase))) {
    throw new Refusal(2306, `the phase is ${settings.launchPhase}`);
  }
  return type === "avail" ? "availability" : "claims";
}

export function claimsData(registry: Registry, names: readonly string[]): Markup {
  return tag(
    "launch:chkData",
    { "xmlns:launch": launchUri },
    tag("launch:phase", {}, "claims"),
    names.map((name) => {
      const isNoticed = isClaimed(registry, name.toLowerCase());
      const key = isNoticed
        ? tag("launch:claimKey", { validatorID: "tmch" }, "2013041500/2/6/9/rJ1NrDO92vDsAzf7EQzgjX4R0000000001")
        : [];
      return tag("launch:cd", {}, tag("launch:name", { exists: isNoticed ? "1" : "0" }, name), key);
    }),
  );
}
