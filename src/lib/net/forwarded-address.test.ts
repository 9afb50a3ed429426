import assert from "node:assert/strict";
import { test } from "node:test";
import { type ForwardedHeader, forwardedAddress } from "#lib/net/forwarded-address.ts";
import { plainAddress } from "#lib/net/plain-address.ts";
import { parseTrustedProxies } from "#lib/net/trusted-proxies.ts";

const proxies = parseTrustedProxies(["192.0.2.1", "10.0.0.0/8", "2001:db8:ffff::/48"]);
const proxy = "192.0.2.1";
const client = "203.0.113.5";
const addressOf = (header: ForwardedHeader, list: string | undefined, peer = proxy) =>
  forwardedAddress(proxies, header, plainAddress(peer), list);

test("reads the list from the right, through trusted proxies only", () => {
  const cases: [list: string | undefined, address: string][] = [
    [undefined, proxy],
    ["", proxy],
    [client, client],
    [`198.51.100.9, ${client}`, client],
    [`198.51.100.9, ${client}, 10.1.2.3, 2001:db8:ffff::7`, client],
    ["10.9.9.9, 10.1.2.3", "10.9.9.9"],
    [` ,, ${client} , ,`, client],
  ];
  for (const [list, address] of cases) {
    assert.equal(addressOf("x-forwarded-for", list), address, list);
    const forwarded = list?.replace(/[^, ]+/g, (node) => (node.includes(":") ? `for="[${node}]"` : `for=${node}`));
    assert.equal(addressOf("forwarded", forwarded), address, forwarded);
  }
});

test("ignores the header of a peer that is not trusted", () => {
  for (const peer of ["192.0.2.2", "::ffff:192.0.2.2", "2001:db8:fffe::1"]) {
    assert.equal(addressOf("x-forwarded-for", client, peer), peer.replace("::ffff:", ""));
    assert.equal(addressOf("forwarded", `for=${client}`, peer), peer.replace("::ffff:", ""));
  }
  for (const peer of ["::ffff:192.0.2.1", "::ffff:10.9.9.9", "2001:db8:ffff:1::1"]) {
    assert.equal(addressOf("x-forwarded-for", client, peer), client);
  }
});

test("understands ports and brackets, and writes each address in canonical form", () => {
  const nodes: [node: string, address: string][] = [
    ["203.0.113.5:4711", client],
    ["[2001:DB8:0:0::5]", "2001:db8::5"],
    ["[2001:db8::5]:443", "2001:db8::5"],
    ["[::ffff:203.0.113.5]:443", client],
    ["[::ffff:cb00:7105]", client],
    ["203.0.113.5:_port", client],
  ];
  for (const [node, address] of nodes) {
    assert.equal(addressOf("x-forwarded-for", node), address, node);
    assert.equal(addressOf("forwarded", `proto=https;For="${node}";by=_x`), address, node);
  }
  assert.equal(addressOf("x-forwarded-for", "2001:DB8::5"), "2001:db8::5");
});

test("an entry that is hidden or malformed yields the address of the proxy that wrote it", () => {
  const nodes = [
    "unknown",
    "_hidden",
    "gateway.example",
    "203.0.113",
    "203.0.113.5:",
    "203.0.113.5:123456",
    "[fe80::1%1]",
  ];
  for (const node of [...nodes, "[203.0.113.5]", "fe80::1%1", "1.2.3.4 5.6.7.8", "[2001:db8::5", "0x7f.1"]) {
    assert.equal(addressOf("x-forwarded-for", `${client}, ${node}`), proxy, node);
    assert.equal(addressOf("x-forwarded-for", `${client}, ${node}, 10.1.2.3`), "10.1.2.3", node);
    assert.equal(addressOf("forwarded", `for=${client}, for="${node}"`), proxy, node);
  }
  for (const element of [
    `by=${client}`,
    "for=",
    "for",
    `for=${client};for=${client}`,
    `for =${client}`,
    `for=${client} proto=http`,
    "for=203.0.113.5:80",
    "for=[2001:db8::5]",
    'for="203.0.113.5',
    'for=203.0.113.5"',
    'for="203.0.113.\\5"',
    client,
    `for='${client}'`,
    "for=2001:db8::5",
  ]) {
    assert.equal(addressOf("forwarded", `for=${client}, ${element}`), proxy, element);
  }
});

test("nothing that a client writes on the left changes its proxy's entry on the right", () => {
  for (const spoofed of [
    'for="',
    'for="a,',
    '"',
    "for=10.1.1.1;",
    "\\",
    'for="\\"',
    "for=10.1.1.1,for=10.2.2.2",
    ",,,;;",
  ]) {
    assert.equal(addressOf("forwarded", `${spoofed}, for=${client}`), client, spoofed);
    assert.equal(addressOf("forwarded", `${spoofed}, for="${client}:80";proto=https`), client, spoofed);
    assert.equal(addressOf("x-forwarded-for", `${spoofed}, ${client}`), client, spoofed);
  }
});
