import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { createSignatureChecker } from "../sdk/signature-check.ts";
import type { DescribedRequest, SignatureCheck } from "../sdk/types.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { printFields, printJson } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient, serviceUrl } from "./settings.ts";

interface CheckOptions extends ConnectionOptions {
  method: string;
  target?: string;
  header?: [name: string, value: string][];
  bodyFile?: string;
  signed?: boolean;
  json?: boolean;
}

/** The group `signature`: for those whose own code signs. */
export function addSignatureCommands(program: Command, clock: Clock): void {
  const signature = program.command("signature").description("find out why a signature is refused");
  const check = signature
    .command("check [file]")
    .description("show what the service builds from a request, described in a file as JSON or by options; needs no key")
    .option("--method <method>", "the request's method", "GET")
    .option("--target <target>", "the request's path and query, as they were sent")
    .option("--header <line>", "a header of the request, as NAME: VALUE; repeat it for more", collectHeader)
    .option("--body-file <file>", "the bytes of the request's body")
    .option("--signed", "ask with your own key: say whether a key of your account has signed the request")
    .option("--json", "print the API's JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse signature check request.json\n  deedhouse signature check --target '/v1/domains?take=5' --header 'Authorization: hmac …'",
    );
  addConnectionOptions(check).action(
    guarded(async (file: string | undefined, options: CheckOptions) => {
      const request = file === undefined ? await describeByOptions(options) : await readDescription(file);
      const asker = options.signed
        ? await openClient(options, clock)
        : createSignatureChecker({ url: await serviceUrl(options) });
      const { data } = await asker.checkSignature(request);
      if (options.json) printJson(data);
      else printFields(fieldsOf(data));
    }),
  );
}

function collectHeader(line: string, earlier: CheckOptions["header"] = []): CheckOptions["header"] {
  const [, name, value] = /^([^:\s]+): ?(.*)$/s.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("Give NAME: VALUE.");
  return [...earlier, [name, value]];
}

async function describeByOptions({ method, target, header = [], bodyFile }: CheckOptions): Promise<DescribedRequest> {
  if (target === undefined) throw new CommandFailure("give a file, or --target", exitCodes.usage);
  const body = bodyFile === undefined ? undefined : await readInput(bodyFile);
  return { method, target, headers: header, ...(body && { body_base64: body.toString("base64") }) };
}

async function readDescription(file: string): Promise<DescribedRequest> {
  try {
    return JSON.parse((await readInput(file)).toString());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CommandFailure(`${file} is not JSON: ${error.message}`, exitCodes.usage);
  }
}

async function readInput(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new CommandFailure(`cannot read ${file}: ${(error as Error).message}`, exitCodes.usage);
  }
}

/** One line each, so that texts stand below each other and can be compared. */
function fieldsOf(check: SignatureCheck): Record<string, string> {
  const { form, clock, body, authorization, message_signature: message, problems, match } = check;
  const base = message?.signature_base;
  return {
    form: form ?? "none: the request has no signature",
    clock: describeClock(clock),
    body: body.bytes === 0 ? "none" : `${body.bytes} bytes, MD5 ${body.md5}, SHA-256 ${body.sha256}`,
    ...numbered(
      "string to sign",
      authorization?.strings_to_sign.map(({ text }) => text),
    ),
    ...numbered("signature base", base?.text.split("\n")),
    ...(base && { "signature base in base64": base.base64 }),
    ...numbered(
      "problem",
      problems.map(({ header, problem }) => `${header}: ${problem}`),
    ),
    ...(match && { match: match.text }),
  };
}

function numbered(name: string, texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(texts.map((text, index) => [`${name} ${index + 1}`, text]));
}

function describeClock({ server_time, skew_seconds: skew, window_seconds, accepted }: SignatureCheck["clock"]): string {
  if (skew === undefined) return `the service's time is ${server_time}`;
  const off = `${Math.abs(skew)} s ${skew < 0 ? "behind" : "ahead of"} the service's time ${server_time}`;
  return `${off}: ${accepted ? "accepted" : "not accepted"} (at most ${window_seconds} s)`;
}
