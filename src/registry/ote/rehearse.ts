/** The frames of a walk, without a registry: what is not known before an answer is made up. */
import { helloFrame } from "../epp/commands/hello.ts";
import { login } from "../epp/commands/login.ts";
import { logout } from "../epp/commands/logout.ts";
import { loadFrameValidator } from "../epp/schema.ts";
import type { XmlElement } from "../epp/xml.ts";
import { writeXml, writeXmlRedacted } from "../epp/xml-writer.ts";
import { eppOptionsOf } from "../epp-options.ts";
import { createMemory } from "./memory.ts";
import { whyNotHere } from "./plan.ts";
import type { StepResult } from "./report.ts";
import type { SessionStep } from "./step.ts";
import { steps } from "./steps.ts";
import type { WalkOptions } from "./walk.ts";

const clTRID = "dh-dry-run";

export type RehearsalOptions = Pick<
  WalkOptions,
  | "profile"
  | "secondProfile"
  | "chosen"
  | "expected"
  | "passwordChange"
  | "revealsSecrets"
  | "label"
  | "suffix"
  | "addresses"
  | "outerHosts"
  | "takesKeys"
  | "restoreName"
  | "otherName"
  | "clock"
  | "random"
>;

/**
 * Every step that was chosen, as if the registry offered all extensions, with the frames that would be sent, each checked
 * against the schemas. @throws EppFrameInvalid
 */
export async function rehearse(options: RehearsalOptions): Promise<StepResult[]> {
  const { profile, secondProfile, passwordChange, chosen, expected, revealsSecrets } = options;
  const validate = await loadFrameValidator();
  const memory = createMemory({ ...options, hasSecond: secondProfile !== undefined });
  const write = (frame: XmlElement) => {
    const xml = writeXml(frame);
    validate(xml);
    return revealsSecrets ? xml : writeXmlRedacted(frame);
  };
  return steps.map((step, index) => {
    const notHere = whyNotHere(step, {
      profile,
      extensionURIs: undefined,
      hasSecond: secondProfile !== undefined,
      hasOther: memory.other !== undefined,
      changesPassword: passwordChange !== undefined,
    });
    const reason = notHere ?? (chosen.has(step.id) ? undefined : "not chosen");
    const by = (step.session === undefined && step.by?.(memory)) || "main";
    const { registrarId } = by === "second" ? (secondProfile ?? profile) : profile;
    const command = step.session === undefined ? step.command(memory) : undefined;
    const frames = step.session === undefined ? [step.command(memory).frame(clTRID)] : sessionFrames(step, options);
    return {
      ...{ number: index + 1, id: step.id, title: step.title, rfc: step.rfc, registrar: registrarId },
      commands: command ? [command.name] : [],
      expected: expected.get(step.id) ?? step.expected,
      ...{ code: undefined, message: undefined, reason },
      outcome: reason === undefined ? "unsent" : "skipped",
      frames: reason === undefined ? frames.map((frame) => ({ direction: "sent" as const, xml: write(frame) })) : [],
    };
  });
}

function sessionFrames({ session }: SessionStep, { profile, passwordChange }: RehearsalOptions): XmlElement[] {
  const { registrarId, password, services } = eppOptionsOf(profile);
  const all = {
    objectURIs: [...services.requiredObjectURIs, ...services.optionalObjectURIs],
    extensionURIs: services.extensionURIs,
    language: "en",
  };
  const other = passwordChange?.password;
  const logIn = (...[from, to]: [typeof password, typeof password?]) =>
    login({ registrarId, password: from, newPassword: to }, all).frame(clTRID);
  if (session === "hello") return [helloFrame()];
  if (session === "logout") return [logout().frame(clTRID)];
  if (session === "login") return [logIn(password)];
  return other ? [logout().frame(clTRID), logIn(password, other), logIn(other, password)] : [];
}
