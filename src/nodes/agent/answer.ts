/** Answers the gateway's questions to this node. */
import type { Log } from "#lib/log.ts";
import { type Answer, type AnswerPart, answerPartCharsMax, answerPartsMax } from "#nodes/agent/messages.ts";
import type { Question } from "#nodes/agent/state-document.ts";
import type { AgentNode } from "#nodes/agent-node.ts";
import { NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

export async function answerQuestion(node: AgentNode, question: Question, log: Log): Promise<Answer> {
  try {
    return { result: (await ask(node, question)) ?? null };
  } catch (error) {
    if (error instanceof NodeRefused) return { refused: error.reason };
    if (error instanceof NodeUnavailable) return { unavailable: error.message };
    log.error({ err: error, method: question.method }, "a question of the gateway could not be answered");
    return { unavailable: "the node failed; its agent's log says why" };
  }
}

async function ask(node: AgentNode, { method, identifier, uid }: Question): Promise<unknown> {
  switch (method) {
    case "find":
      return node.find(identifier);
    case "list":
      return node.list();
    case "probe":
      return node.probe({ identifier, uid });
    case "oneTimeLogin": {
      const { user, password, certificate } = await node.oneTimeLogin({ identifier, uid });
      return { user, password: password.reveal(), certificate };
    }
  }
}

/** Splits an answer into parts that fit in a report: the list of a full node has tens of megabytes. */
export function cutAnswer(question: string, answer: Answer): AnswerPart[] {
  const text = JSON.stringify(answer);
  const parts = Math.ceil(text.length / answerPartCharsMax);
  if (parts > answerPartsMax) return cutAnswer(question, { unavailable: "the answer is too long" });
  return Array.from({ length: parts }, (_, part) => {
    const start = part * answerPartCharsMax;
    return { question, part, parts, text: text.slice(start, start + answerPartCharsMax) };
  });
}
