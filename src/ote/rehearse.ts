/** Shows the frames of a test without a registry: unknown values of answers are invented. */

import { createMemory } from "#ote/memory.ts";
import { type WalkPlan, whyNotHere } from "#ote/plan.ts";
import type { StepResult } from "#ote/report.ts";
import type { SessionStep } from "#ote/step.ts";
import { steps } from "#ote/steps.ts";
import { helloFrame } from "#registry/epp/commands/session/hello.ts";
import { login } from "#registry/epp/commands/session/login.ts";
import { logout } from "#registry/epp/commands/session/logout.ts";
import { extensionsAtBest } from "#registry/epp/services.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { writeXml, writeXmlRedacted } from "#registry/epp/xml/writer.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";

const clTRID = "dh-dry-run";

/**
 * Every chosen step, as if the registry offered all extensions, with its frames, each checked against the schemas.
 * @throws EppFrameInvalid
 */
export async function rehearse(plan: WalkPlan): Promise<StepResult[]> {
  const { profile, secondProfile, chosen, expected, revealsSecrets } = plan;
  const validate = await loadFrameValidator();
  const memory = createMemory(plan);
  const { dialect } = eppOptionsOf(profile);
  const write = (frame: XmlElement) => {
    const xml = writeXml(frame);
    validate(xml);
    return revealsSecrets ? xml : writeXmlRedacted(frame);
  };
  const taken = steps.filter(({ id }) => chosen.has(id));
  return taken.map((step, index) => {
    const { id, title, rfc } = step;
    const reason = whyNotHere(step, plan, undefined);
    const command = step.session === undefined ? step.command(memory) : undefined;
    const frames = command
      ? [dialect.adapt(command, memory.extensionURIs).frame(clTRID)]
      : sessionFrames(step.session, plan);
    const by = (step.session === undefined && step.by?.(memory)) || "main";
    return {
      number: index + 1,
      id,
      title,
      rfc,
      reason,
      code: undefined,
      message: undefined,
      registrar: by === "second" ? (secondProfile ?? profile).registrarId : profile.registrarId,
      commands: [command?.name ?? step.session ?? ""],
      expected: expected.get(id) ?? step.expected,
      outcome: reason === undefined ? "unsent" : "skipped",
      frames: reason === undefined ? frames.map((frame) => ({ direction: "sent", xml: write(frame) })) : [],
    };
  });
}

function sessionFrames(
  session: SessionStep["session"] | undefined,
  { profile, passwordChange }: WalkPlan,
): XmlElement[] {
  const { registrarId, password, services } = eppOptionsOf(profile);
  const all = {
    objectURIs: [...services.requiredObjectURIs, ...services.optionalObjectURIs],
    extensionURIs: extensionsAtBest(services),
    language: "en",
  };
  const other = passwordChange?.password;
  const logIn = (from: typeof password, to?: typeof password) =>
    login({ registrarId, password: from, newPassword: to }, all).frame(clTRID);
  if (session === "hello") return [helloFrame()];
  if (session === "logout") return [logout().frame(clTRID)];
  if (session === "login") return [logIn(password)];
  return other ? [logout().frame(clTRID), logIn(password, other), logIn(other, password)] : [];
}
