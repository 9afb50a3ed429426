/**
 * What certification exams ask of a registrar, in the order of the walk. Each step is data: what is sent, what is right as
 * an answer, what it leaves behind and what it needs (step.ts). docs/ote.md has the same as a table.
 */
import { contactSteps, domainContactSteps } from "#ote/contact-steps.ts";
import { domainCheckSteps, domainCreateSteps } from "#ote/domain-steps.ts";
import { hostEndSteps, hostSteps, nameServerSteps } from "#ote/host-steps.ts";
import { deleteSteps, renewSteps } from "#ote/life-steps.ts";
import { mistakeSteps, otherSteps, transferSteps } from "#ote/other-steps.ts";
import { closingSteps, openingSteps, pollSteps } from "#ote/session-steps.ts";
import type { Step } from "#ote/step.ts";
import { secDnsSteps, updateSteps } from "#ote/update-steps.ts";

export const steps: readonly Step[] = [
  ...openingSteps,
  ...domainCheckSteps,
  ...contactSteps,
  ...hostSteps,
  ...domainCreateSteps,
  ...nameServerSteps,
  ...domainContactSteps,
  ...updateSteps,
  ...secDnsSteps,
  ...renewSteps,
  ...mistakeSteps,
  ...otherSteps,
  ...transferSteps,
  ...pollSteps,
  ...hostEndSteps,
  ...deleteSteps,
  ...closingSteps,
];
