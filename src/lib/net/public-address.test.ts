import assert from "node:assert/strict";
import { test } from "node:test";
import { isPublicUnicast } from "#lib/net/public-address.ts";

test("an address that the public Internet routes to one host is public", () => {
  for (const address of ["9.9.9.9", "1.1.1.1", "192.0.1.1", "223.255.255.254", "2620:fe::9", "2a00:1450::1"]) {
    assert.equal(isPublicUnicast(address), true, address);
  }
});

test("a private, reserved, documentation or multicast address is not", () => {
  const addresses = `0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 169.254.1.1 172.31.255.255 192.0.0.8 192.0.2.1 192.168.1.1
    198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1 fd12::1 ff02::1
    2001::1 2001:db8::1 2002:102:304::1 3fff::1 64:ff9b::1 ::ffff:9.9.9.9`;
  for (const address of addresses.split(/\s+/)) assert.equal(isPublicUnicast(address), false, address);
});
