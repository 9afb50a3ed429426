import { readdir } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { loadStatusConfig } from "#config.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { hostInUrl, nearAddress } from "#lib/net/near-address.ts";
import type { StatusSettings } from "#lib/net/status-listener.ts";
import { wholeNumber } from "#operator/arguments.ts";
import { CommandFailure, exitCodes, guarded } from "../../client/cli/failures.ts";
import { printFields, printJson } from "../../client/cli/output.ts";

const waitSecondsMax = 3_600;
const lookAgainMs = 100;
const answerMsMax = 3_000;
const answerBytesMax = 64 * 1024;

interface Answered {
  place: string;
  ready: boolean;
  text: string;
}

interface ReadyOptions {
  wait?: number;
  json?: boolean;
}

export function addReadyCommand(program: Command): void {
  const wait = new Option("--wait <seconds>", "ask again until it is ready, at most so long");
  program
    .command("ready [place]")
    .description("say whether a process on this machine is ready, and why not (operator)")
    .addOption(wait.argParser(wholeNumber(0, waitSecondsMax)))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nAsks /readyz of each socket in a runtime folder, of one socket, or of the URL of the metrics port. Without a place:" +
        "\nDEEDHOUSE_RUNTIME_DIR or systemd's RUNTIME_DIRECTORY, else DEEDHOUSE_METRICS_HOST and DEEDHOUSE_METRICS_PORT." +
        "\nExit code 0 when all of them are ready, 8 when one is not." +
        "\n\nExamples:\n  deedhouse ready /run/deedhouse-api --wait 60\n  deedhouse ready http://127.0.0.1:9100",
    )
    .action(
      guarded(async (place: string | undefined, { wait: waitSeconds = 0, json }: ReadyOptions) => {
        const places = placesOf(place);
        const untilMs = systemClock.monotonicMs() + waitSeconds * 1_000;
        let answers = await askAll(await places());
        while (!areReady(answers) && systemClock.monotonicMs() < untilMs) {
          await sleep(lookAgainMs);
          answers = await askAll(await places());
        }
        if (json) printJson(answers);
        else printFields(Object.fromEntries(answers.map((answer) => [answer.place, answer.text])));
        if (!areReady(answers)) throw notReady(answers);
      }),
    );
}

const areReady = (answers: readonly Answered[]) => answers.length > 0 && answers.every(({ ready }) => ready);

function notReady(answers: readonly Answered[]): CommandFailure {
  const late = answers.find(({ ready }) => !ready);
  const text = late ? `${late.place} is not ready: ${late.text}` : "no process has a socket there";
  return new CommandFailure(
    text,
    exitCodes.unavailable,
    "Its log says more. To wait until it is ready: --wait SECONDS",
  );
}

/** The folder is read again at each look, because a process that starts makes its socket late. */
function placesOf(place: string | undefined): () => Promise<string[]> {
  const where = place ?? placeOf(loadStatusConfig());
  if (where === undefined) {
    const advice = "Name a runtime folder, a socket or a URL, or set DEEDHOUSE_RUNTIME_DIR.";
    throw new CommandFailure("there is nothing to ask", exitCodes.usage, advice);
  }
  if (/^http:\/\//.test(where) || where.endsWith(".sock")) return async () => [where];
  return () =>
    readdir(where).then(
      (names) => names.filter((name) => name.endsWith(".sock")).map((name) => join(where, name)),
      () => [],
    );
}

function placeOf({ runtimeDir, host, port }: StatusSettings): string | undefined {
  if (runtimeDir !== undefined) return runtimeDir;
  return port ? `http://${hostInUrl(nearAddress(host))}:${port}` : undefined;
}

const askAll = (places: readonly string[]) => Promise.all(places.map(ask));

async function ask(place: string): Promise<Answered> {
  const signal = AbortSignal.timeout(answerMsMax);
  try {
    const { status, body } = await askReadiness(place, signal);
    return { place, ready: status === 200, text: (JSON.parse(body) as { status: string }).status };
  } catch (error) {
    return { place, ready: false, text: `it does not answer (${(error as Error).message})` };
  }
}

function askReadiness(place: string, signal: AbortSignal): Promise<{ status: number | undefined; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>();
  const onAnswer = (response: IncomingMessage) => {
    let body = "";
    response.setEncoding("utf8").on("data", (part: string) => {
      body += part;
      if (body.length > answerBytesMax) response.destroy(new Error("its answer is too long"));
    });
    response.once("end", () => resolve({ status: response.statusCode, body })).once("error", reject);
  };
  const asked = place.endsWith(".sock")
    ? request({ socketPath: place, path: "/readyz", signal }, onAnswer)
    : request(new URL("/readyz", place), { signal }, onAnswer);
  asked.once("error", reject).end();
  return promise;
}
