import { type Step, step } from "#ote/step.ts";
import { pollAck } from "#registry/epp/commands/session/poll-ack.ts";
import { type PollMessage, pollRequest } from "#registry/epp/commands/session/poll-request.ts";

export const openingSteps: readonly Step[] = [
  {
    id: "login",
    title: "Connect, read the greeting and log in",
    rfc: "RFC 5730 §2.4, §2.9.1.1",
    expected: [1000],
    session: "login",
  },
  {
    id: "hello",
    title: "Send hello and read the greeting again",
    rfc: "RFC 5730 §2.3",
    expected: [],
    session: "hello",
  },
  {
    id: "password-change",
    title: "Log in with a new password, and log in again to restore the old one",
    rfc: "RFC 5730 §2.9.1.1",
    needs: { passwordChange: true },
    expected: [1000],
    session: "password-change",
  },
];

export const pollSteps: readonly Step[] = [
  step({
    id: "poll-request",
    title: "Request the oldest message",
    rfc: "RFC 5730 §2.9.2.3",
    expected: [1300, 1301],
    command: () => pollRequest(),
    remember: (memory, { data }) => {
      memory.messageId = data?.id;
    },
  }),
  step<PollMessage | undefined>({
    id: "poll-ack",
    title: "Acknowledge messages until the queue is empty",
    rfc: "RFC 5730 §2.9.2.3",
    buildsOn: ["poll-request"],
    expected: [1000, 1300, 1301],
    whyNot: ({ messageId }) => (messageId === undefined ? "there is no message" : undefined),
    command: ({ messageId = "1" }) => pollAck(messageId),
    remember: (memory, { data }) => {
      memory.messageId = data?.id;
    },
    next: ({ messageId }, { code }) => {
      if (messageId !== undefined) return pollAck(messageId);
      return code === 1000 ? pollRequest() : undefined;
    },
  }),
];

export const closingSteps: readonly Step[] = [
  { id: "logout", title: "Log out", rfc: "RFC 5730 §2.9.1.2", expected: [1500], session: "logout" },
];
