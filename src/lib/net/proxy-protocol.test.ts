import assert from "node:assert/strict";
import { test } from "node:test";
import { parseProxyHeader } from "#lib/net/proxy-protocol.ts";

const signature = "0d0a0d0a000d0a515549540a";
const hex = (...parts: string[]) => Buffer.from(parts.join("").replaceAll(" ", ""), "hex");
const v4 = "cb007105 c0000201 1267 01bb";
const v6 = "20010db8000000000000000000000005 20010db8000000000000000000000001 1267 01bb";

test("reads the address of version 1, and where the header ends", () => {
  const cases: [line: string, address: string | undefined][] = [
    ["PROXY TCP4 203.0.113.5 192.0.2.1 4711 443", "203.0.113.5"],
    ["PROXY TCP6 2001:DB8::5 2001:db8::1 0 65535", "2001:db8::5"],
    ["PROXY UNKNOWN", undefined],
    ["PROXY UNKNOWN ffff::1 ffff::1 65535 65535", undefined],
  ];
  for (const [line, address] of cases) {
    const expected = { bytes: line.length + 2, address };
    assert.deepEqual(parseProxyHeader(Buffer.from(`${line}\r\nGET / HTTP/1.1\r\n`)), expected, line);
  }
});

test("reads the address of version 2 and ignores proxies' additions", () => {
  const cases: [header: Buffer, address: string | undefined][] = [
    [hex(signature, "21 11 000c", v4), "203.0.113.5"],
    [hex(signature, "21 11 0013", v4, "04 0004 00000000"), "203.0.113.5"],
    [hex(signature, "21 21 0024", v6), "2001:db8::5"],
    [hex(signature, "20 11 000c", v4), undefined],
    [hex(signature, "20 00 0000"), undefined],
    [hex(signature, "21 00 0000"), undefined],
    [hex(signature, "21 12 000c", v4), undefined],
    [hex(signature, "21 31 00d8", "00".repeat(216)), undefined],
  ];
  for (const [header, address] of cases) {
    const expected = { bytes: header.length, address };
    assert.deepEqual(parseProxyHeader(Buffer.concat([header, Buffer.from("GET /")])), expected, header.toString("hex"));
  }
});

test("waits for the rest of a header, byte by byte", () => {
  const line = Buffer.from("PROXY TCP4 203.0.113.5 192.0.2.1 4711 443\r\n");
  for (const whole of [line, hex(signature, "21 21 0024", v6)]) {
    for (let bytes = 0; bytes < whole.length; bytes++) {
      assert.equal(parseProxyHeader(whole.subarray(0, bytes)), "incomplete", `${bytes} bytes`);
    }
    assert.equal((parseProxyHeader(whole) as { bytes: number }).bytes, whole.length);
  }
});

test("accepts nothing else as a header, and none that is too long", () => {
  const addresses = "203.0.113.5 192.0.2.1 4711 443";
  for (const line of [
    "GET / HTTP/1.1\r\n\r\n",
    "\r\nPROXY",
    "proxy TCP4",
    "PROXY TCP4\r\n",
    "PROXY UNKNOWNS\r\n",
    "PROXY  UNKNOWN\r\n",
    `PROXY TCP6 ${addresses}\r\n`,
    `PROXY UDP4 ${addresses}\r\n`,
    `PROXY TCP4 ${addresses} \r\n`,
    "PROXY TCP4 203.0.113.5 192.0.2.1 4711 65536\r\n",
    "PROXY TCP4 203.0.113.5 192.0.2.1 04711 443\r\n",
    "PROXY TCP4 203.0.113.05 192.0.2.1 1 1\r\n",
    "PROXY TCP6 fe80::1%1 fe80::2 1 1\r\n",
    `PROXY ${"x".repeat(101)}`,
  ]) {
    assert.equal(parseProxyHeader(Buffer.from(line)), "malformed", line);
  }
  for (const header of [
    hex(signature, "11 11 000c", v4),
    hex(signature, "22 11 000c", v4),
    hex(signature, "21 41 000c", v4),
    hex(signature, "21 13 000c", v4),
    hex(signature, "21 11 000b", v4),
    hex(signature, "21 21 000c", v4),
    hex(signature, "21 11 1000", v4),
    hex("0d0a0d0a000d0a515549540b"),
  ]) {
    assert.equal(parseProxyHeader(header), "malformed", header.toString("hex"));
  }
});
