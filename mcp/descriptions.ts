/** The tools that an operation becomes, as the protocol lists them. */
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { confirmMinutes } from "./confirmations.ts";
import type { Operation } from "./document.ts";

export const tokenName = "confirmation_token";

const dryFirst =
  "It runs dry first: without confirmation_token nothing is sent, and the answer says what would be. Show that to the user. With the confirmation_token of that answer and the same arguments it is sent.";

const tokenSchema = {
  type: "string",
  description: `From the answer of the dry run. It is valid for ${confirmMinutes} minutes, for exactly these arguments, once.`,
};

export const isWrite = ({ method }: Operation): boolean => method !== "GET";

export function toolOf(operation: Operation): Tool {
  const { name, summary, description, schema, method } = operation;
  const isWriting = isWrite(operation);
  return {
    name,
    title: summary.replace(/\.$/, ""),
    description: [summary, description, ...(isWriting ? [dryFirst] : [])].filter(Boolean).join(" "),
    inputSchema: isWriting ? { ...schema, properties: { ...schema.properties, [tokenName]: tokenSchema } } : schema,
    annotations: {
      readOnlyHint: !isWriting,
      // A PUT replaces what is there.
      ...(isWriting && { destructiveHint: method !== "POST" }),
      idempotentHint: method !== "POST",
      openWorldHint: true,
    },
  };
}

const reading = `The tools read a reseller's domain names, orders, renewals and hosting accounts.
A list has pages: call it again with the arguments in next_page. Answers can have personal data, and readAuthCode a secret.`;

const writing = `A tool that changes something runs dry first and answers with a confirmation_token. Show the user what would be sent, and
wait for a clear yes before you call it with the token. Registrations, renewals and restores cost money.
202 means that an order is accepted, not that it is carried out: read it with readOrder and wait_seconds until its status is final.
After no_answer, call the tool again with the same arguments and the same token: it is carried out at most once.`;

const readOnly = "Nothing can be changed: this server was started without --write.";

export const instructionsFor = (canWrite: boolean): string => `${reading}\n${canWrite ? writing : readOnly}`;
