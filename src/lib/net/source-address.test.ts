import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceOf } from "#lib/net/source-address.ts";

test("an IPv4 address is a source of its own, mapped into IPv6 or not", () => {
  for (const address of ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"]) {
    assert.equal(sourceOf(address), "192.0.2.7", address);
  }
  assert.notEqual(sourceOf("192.0.2.8"), sourceOf("192.0.2.7"));
});

test("all addresses of one /64 are one source", () => {
  for (const address of ["2001:db8:1:2::1", "2001:db8:1:2:ffff::", "2001:0db8:0001:0002:1:2:3:4%eth0"]) {
    assert.equal(sourceOf(address), "2001:db8:1:2::/64", address);
  }
  assert.notEqual(sourceOf("2001:db8:1:3::1"), sourceOf("2001:db8:1:2::1"));
});
