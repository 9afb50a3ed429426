/** A collector of OpenTelemetry that takes spans over HTTP, as JSON, and keeps what it got. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  /** Of the process that sent it. */
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Undefined of the first one of a trace. */
  parentSpanId: string | undefined;
  isFailed: boolean;
  attributes: Record<string, unknown>;
}

export interface Collector {
  /** What processes need to send spans there, and soon. */
  environment: Record<string, string>;
  spans(): ReceivedSpan[];
  /** Every byte of every body. */
  received(): string;
}

interface AttributeJson {
  key: string;
  value: { stringValue?: string; intValue?: number };
}
interface SpanJson {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: AttributeJson[];
  status: { code?: number };
}
interface BodyJson {
  resourceSpans: { resource: { attributes: AttributeJson[] }; scopeSpans: { spans: SpanJson[] }[] }[];
}

const failedCode = 2;

export async function startCollector(scope: { after(work: () => unknown): void }): Promise<Collector> {
  const bodies: string[] = [];
  const server = createServer((message, response) => {
    const parts: Buffer[] = [];
    message.on("data", (part: Buffer) => parts.push(part));
    message.on("end", () => {
      bodies.push(Buffer.concat(parts).toString());
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  scope.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body))),
    received: () => bodies.join("\n"),
  };
}

const valuesOf = (attributes: AttributeJson[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

const spansOf = ({ resourceSpans }: BodyJson): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)["service.name"]);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, status, attributes }) => {
        const isFailed = status.code === failedCode;
        const parent = parentSpanId || undefined;
        return { service, name, traceId, spanId, parentSpanId: parent, isFailed, attributes: valuesOf(attributes) };
      }),
    );
  });
