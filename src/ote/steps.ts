/**
 * The requirements of certification exams for a registrar, in the order of the test. Each step is data: its command,
 * the correct answers, the objects that it creates and its requirements (step.ts). docs/ote.md prints the same as a
 * table.
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
