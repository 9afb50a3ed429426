import { ackFrame, pollFrame } from "./frames.ts";
import type { Answer, RawClient } from "./raw-client.ts";

/** Acknowledges all messages of the client's queue, the oldest first. */
export async function pollAll(client: RawClient): Promise<Answer[]> {
  const messages: Answer[] = [];
  for (let answer = await client.ask(pollFrame); answer.code === 1301; answer = await client.ask(pollFrame)) {
    messages.push(answer);
    await client.ask(ackFrame(/<msgQ count="\d+" id="(\d+)"/.exec(answer.xml)?.[1] ?? ""));
  }
  return messages;
}

/** A message's text for people. */
export function messageText({ xml }: Answer): string {
  return /<msgQ.*?<msg>([^<]*)/.exec(xml)?.[1] ?? "";
}
