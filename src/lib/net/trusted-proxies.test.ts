import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTrustedProxies } from "#lib/net/trusted-proxies.ts";

test("trusts the listed addresses and ranges in any notation, and nobody else", () => {
  const { isTrusted } = parseTrustedProxies(["192.0.2.1", "10.0.0.0/8", "2001:db8::/32", "::1"]);
  for (const address of ["192.0.2.1", "::ffff:192.0.2.1", "10.255.0.1", "2001:DB8:0::7", "0:0::1"]) {
    assert.equal(isTrusted(address), true, address);
  }
  for (const address of ["192.0.2.2", "11.0.0.1", "2001:db9::7", "::2", "", "unix", "fe80::1%eth0"]) {
    assert.equal(isTrusted(address), false, address);
  }
  assert.equal(parseTrustedProxies([]).isTrusted("127.0.0.1"), false);
});

test("refuses what is neither an address nor a range, and everybody", () => {
  for (const entry of [
    "proxy.example",
    "10.0.0.0/33",
    "::1/129",
    "10.0.0",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "fe80::1%eth0",
    "",
  ]) {
    assert.throws(() => parseTrustedProxies(["::1", entry]), /is not an address or a range/, entry);
  }
  for (const entry of ["0.0.0.0/0", "::/0"]) assert.throws(() => parseTrustedProxies([entry]), /is everybody/);
});
