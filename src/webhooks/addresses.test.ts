import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { findAddresses, isAllowedAddress, parseWebhookUrl, RefusedAddress } from "#webhooks/addresses.ts";
import { startNameServer } from "../../test/harness/name-server.ts";

const settings = { ranges: [], allowsPlainHttp: false, ca: undefined };
const context = (...servers: string[]) => ({ webhooks: settings, names: createNameLookups(servers) });
const isAllowed = (address: string, ranges: string[] = []) => isAllowedAddress({ ...settings, ranges }, address);

test("only public addresses are allowed", () => {
  for (const address of ["9.9.9.9", "93.184.216.34", "2606:4700:4700::1111"]) assert.ok(isAllowed(address), address);
  for (const address of [
    ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254", "172.31.255.255"],
    ...["192.168.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
    ...["::", "::1", "fe80::1", "fe80::1%lo", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1"],
    // IPv4 within IPv6: mapped, compatible, NAT64, its local prefix, 6to4, Teredo.
    ...["::ffff:9.9.9.9", "::ffff:127.0.0.1", "::9.9.9.9", "64:ff9b::909:909", "64:ff9b:1::1", "2002:909:909::1"],
    "2001:0:909:909::1",
  ]) {
    assert.ok(!isAllowed(address), address);
  }
});

test("the service's own addresses are refused, and named ranges are allowed", () => {
  for (const [, addresses = []] of Object.entries(networkInterfaces())) {
    for (const { address } of addresses) assert.ok(!isAllowed(address), address);
  }
  assert.ok(isAllowed("10.1.2.3", ["10.1.0.0/16"]));
  assert.ok(!isAllowed("10.2.2.3", ["10.1.0.0/16"]));
  assert.ok(isAllowed("fd00::1", ["10.1.0.0/16", "fd00::/8"]));
  // In 10.1.0.0/16 as IPv4, but not as the address that the socket has.
  assert.ok(!isAllowed("64:ff9b::a01:203", ["10.1.0.0/16"]));
  for (const wrong of ["10.1.0.0", "10.1.0.0/33", "x/8", "::1/129", "10.0.0.0/"]) {
    assert.throws(() => parseRanges([wrong]), /is not a range such as/);
  }
});

test("a URL is https, without user, password and fragment", () => {
  assert.equal(
    parseWebhookUrl(settings, "https://shop.example.com/hook?x=1").href,
    "https://shop.example.com/hook?x=1",
  );
  for (const wrong of [
    ...["", "shop.example.com", "ftp://shop.example.com", "http://shop.example.com", "file:///etc/passwd"],
    ...["https://me@shop.example.com", "https://:pw@shop.example.com", "https://shop.example.com/#x"],
    `https://shop.example.com/${"x".repeat(2_000)}`,
  ]) {
    assert.throws(() => parseWebhookUrl(settings, wrong), RefusedAddress, wrong);
  }
  assert.ok(parseWebhookUrl({ ...settings, allowsPlainHttp: true }, "http://shop.example.com"));
});

test("an address in a URL is judged in each of its spellings", async () => {
  for (const host of [
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[0:0::1]",
  ]) {
    await assert.rejects(findAddresses(context(), 1, new URL(`https://${host}/`)), RefusedAddress, host);
  }
  assert.deepEqual(await findAddresses(context(), 1, new URL("https://9.9.9.9/")), ["9.9.9.9"]);
});

test("a name that does not exist gets the same answer as one that leads to an inner address", async (t) => {
  const names = await startNameServer();
  t.after(() => names.close());
  names.addresses.set("inner.example", ["10.1.2.3"]);
  for (const host of ["inner.example", "nothing.example", "localhost", "10.1.2.3"]) {
    const text = `There is no public address for ${host}, and no other that the operator has allowed.`;
    await assert.rejects(findAddresses(context(names.address), 1, new URL(`https://${host}/`)), { message: text });
  }
});
