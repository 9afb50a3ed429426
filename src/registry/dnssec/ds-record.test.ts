import assert from "node:assert/strict";
import { test } from "node:test";
import { dsOfKey } from "#registry/dnssec/ds-record.ts";

const examples = [
  {
    from: "RFC 4034 §5.4 and RFC 4509 §2.3",
    name: "dskey.example.com",
    key: `256 3 5 AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==`,
    ds: "60485 5 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A",
  },
  {
    from: "RFC 6605 §6.1",
    name: "example.net",
    key: "257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==",
    ds: "55648 13 2 B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17",
  },
  {
    from: "RFC 8080 §6.1",
    name: "example.com",
    key: "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=",
    ds: "3613 15 2 3AA5AB37EFCE57F737FC1627013FEE07BDF241BD10F3B1964AB55C78E79A304B",
  },
  {
    from: "RFC 8080 §6.1",
    name: "example.com",
    key: "257 3 15 zPnZ/QwEe7S8C5SPz2OfS5RR40ATk2/rYnE9xHIEijs=",
    ds: "35217 15 2 401781B934E392DE492EC77AE2E15D70F6575A1C0BC59C5275C04EBE80C6614C",
  },
];

for (const { from, name, key, ds } of examples) {
  test(`the DS record of a key is the one of ${from} (key tag ${ds.split(" ")[0]})`, () => {
    const [flags, protocol, alg, pubKey = ""] = key.split(" ");
    const record = dsOfKey(name, { flags: Number(flags), protocol: Number(protocol), alg: Number(alg), pubKey });
    assert.equal([record.keyTag, record.alg, record.digestType, record.digest].join(" "), ds);
  });
}
