/** Sends spans to a collector by OpenTelemetry's SDK. An operator who wants them installs it: it has 60 packages. */
import { fileURLToPath } from "node:url";
import { DiagLogLevel, diag, trace } from "@opentelemetry/api";
import { waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { recordWith } from "#lib/measure/tracing.ts";
import { release } from "#lib/release.ts";

/** The one that tests run with. */
export const sdkVersion = "0.301.0";
/** What is left when a process stops: the collector may be away. */
const lastSpansMsMax = 3_000;

export interface TracesSettings {
  /** As what the process appears at the collector; by default after its role. */
  serviceName: string | undefined;
}

/** Reads variables that the SDK reads, too: they say whether there is a collector. @returns undefined when there is none */
export function readTraces(environment: NodeJS.ProcessEnv): TracesSettings | undefined {
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = environment.OTEL_SDK_DISABLED?.toLowerCase() === "true" || environment.OTEL_TRACES_EXPORTER === "none";
  return endpoint && !isOff ? { serviceName: environment.OTEL_SERVICE_NAME || undefined } : undefined;
}

export function tracesMistakes(settings: TracesSettings | undefined): string[] {
  if (!settings || isInstalled()) return [];
  const folder = fileURLToPath(new URL("../../..", import.meta.url));
  const install = `npm install --no-save --omit=dev --ignore-scripts --prefix ${folder} @opentelemetry/sdk-node@${sdkVersion}`;
  return [`OTEL_EXPORTER_OTLP_ENDPOINT needs OpenTelemetry's SDK, which is not installed: unset it, or run ${install}`];
}

function isInstalled(): boolean {
  try {
    import.meta.resolve("@opentelemetry/sdk-node");
    return true;
  } catch {
    return false;
  }
}

export interface Sending {
  /** Sends what is left. Never throws. */
  close(): Promise<void>;
}

/** Begins to record and send spans, if the settings say so. Without them nothing is loaded. */
export async function sendSpans(settings: TracesSettings | undefined, role: string, log: Log): Promise<Sending> {
  if (!settings) return { close: async () => {} };
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  const sdk = new NodeSDK({
    serviceName: settings.serviceName ?? `deedhouse-${role}`,
    // Metrics and logs have their own ways out, and the code passes a trace on by itself.
    metricReaders: [],
    logRecordProcessors: [],
    textMapPropagator: null,
  });
  const tell = (said: string) => log.warn({ said }, "OpenTelemetry's SDK has trouble with the spans");
  const ignore = () => {};
  const logger = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  sdk.start();
  recordWith(trace.getTracer("deedhouse", release));
  return {
    async close() {
      recordWith(undefined);
      const ended = sdk.shutdown().catch((error: unknown) => log.warn({ err: error }, "the last spans were not sent"));
      await waitAtMost(lastSpansMsMax, ended);
    },
  };
}
