/**
 * The PROXY protocol, versions 1 and 2 (haproxy's proxy-protocol.txt): a header before the first byte of a connection,
 * in which a proxy that does not read the forwarded bytes names the client.
 */
import { isIPv4, isIPv6, type Socket } from "node:net";
import { canonicalAddress } from "#lib/net/plain-address.ts";

/** The start of a connection. `address` is undefined when the proxy speaks for itself, as in health checks. */
export type ProxyHeader = { bytes: number; address: string | undefined } | "incomplete" | "malformed";

/** Section 2.1: the length that a receiver must accept. */
const lineBytesMax = 107;
/** Addresses and the proxy's additions; some proxies add 2 KiB with a client's certificate. */
const binaryBytesMax = 4_096;
const fixedBytes = 16;
const linePrefix = Buffer.from("PROXY ");
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n");

/** Reads the header at the start of the received bytes. */
export function parseProxyHeader(received: Buffer): ProxyHeader {
  const isLine = beginsWith(received, linePrefix);
  if (!isLine && !beginsWith(received, signature)) return "malformed";
  if (received.length < (isLine ? linePrefix : signature).length) return "incomplete";
  return isLine ? parseLine(received) : parseBinary(received);
}

/** Whether the bytes are, or may become, the beginning. */
function beginsWith(received: Buffer, beginning: Buffer): boolean {
  const common = Math.min(received.length, beginning.length);
  return received.subarray(0, common).equals(beginning.subarray(0, common));
}

/** Section 2.1 */
function parseLine(received: Buffer): ProxyHeader {
  const end = received.subarray(0, lineBytesMax).indexOf("\r\n");
  if (end === -1) return received.length < lineBytesMax ? "incomplete" : "malformed";
  const bytes = end + 2;
  const line = received.subarray(0, end).toString("latin1");
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { bytes, address: undefined };
  const [, family, source = "", destination = "", ...ports] =
    /^PROXY (TCP4|TCP6) ([^ %]+) ([^ %]+) (0|[1-9][0-9]{0,4}) (0|[1-9][0-9]{0,4})$/.exec(line) ?? [];
  const isAddress = family === "TCP4" ? isIPv4 : isIPv6;
  const isRight = family !== undefined && isAddress(source) && isAddress(destination);
  return isRight && ports.every((port) => Number(port) <= 65_535)
    ? { bytes, address: canonicalAddress(source) }
    : "malformed";
}

/** Section 2.2 */
function parseBinary(received: Buffer): ProxyHeader {
  if (received.length < fixedBytes) return "incomplete";
  const command = received[12];
  const family = received[13]!;
  const length = received.readUInt16BE(14);
  const bytes = fixedBytes + length;
  const isKnown = command === 0x20 || command === 0x21;
  if (!isKnown || family >> 4 > 3 || (family & 15) > 2 || bytes > binaryBytesMax) return "malformed";
  if (received.length < bytes) return "incomplete";
  // LOCAL, or neither IPv4 nor IPv6 over TCP: any addresses that follow must not be used.
  if (command === 0x20 || (family !== 0x11 && family !== 0x21)) return { bytes, address: undefined };
  if (length < (family === 0x11 ? 12 : 36)) return "malformed";
  const source = received.subarray(fixedBytes, fixedBytes + (family === 0x11 ? 4 : 16));
  return { bytes, address: family === 0x11 ? source.join(".") : ipv6Text(source) };
}

function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_group, index) => bytes.readUInt16BE(index * 2).toString(16));
  return canonicalAddress(groups.join(":"));
}

/**
 * Takes the header off a new connection; the next reader gets the bytes after it.
 * @param signal ends the wait
 * @returns the address in the header; undefined when the proxy speaks for itself
 * @throws Error when the header is malformed, the connection ends before it, or the signal fires
 */
export function takeProxyHeader(socket: Socket, signal: AbortSignal): Promise<string | undefined> {
  let received: Buffer = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    const settle = (result: ProxyHeader | Error) => {
      socket.off("readable", read).off("end", closed).off("close", closed).off("error", settle);
      signal.removeEventListener("abort", aborted);
      if (result instanceof Error) return reject(result);
      if (typeof result === "string") return reject(new Error("the connection does not begin with a PROXY header"));
      const rest = received.subarray(result.bytes);
      if (rest.length > 0) socket.unshift(rest);
      resolve(result.address);
    };
    const closed = () => settle(new Error("the connection ended before its PROXY header"));
    const aborted = () => settle(new Error("the PROXY header did not come in time"));
    function read(): void {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        received = Buffer.concat([received, chunk]);
      }
      const header = parseProxyHeader(received);
      if (header !== "incomplete") settle(header);
    }
    signal.addEventListener("abort", aborted, { once: true });
    socket.on("readable", read).on("end", closed).on("close", closed).on("error", settle);
  });
}
