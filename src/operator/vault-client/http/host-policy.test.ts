import type { LookupAddress } from "node:dns";
import { expect, test } from "vitest";
import { AddressRefusedError, addressAllowed, policyLookup, refusalOf } from "./host-policy.ts";

const production = { allowHttp: false, allowedHosts: undefined };
const development = { allowHttp: true, allowedHosts: undefined };

test.each([
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "64:ff9b::a9fe:a9fe",
  "2002:a9fe:a9fe::1",
  "fe80::1",
  "fd00:ec2::254",
  "fd20:ce::254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "0.0.0.0",
  "::",
  "224.0.0.1",
  "255.255.255.255",
  "ff02::1",
  "not an address",
])("addressAllowed never allows %s", (address) => {
  expect(addressAllowed(address, development)).toBe(false);
});

test.each(["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])(
  "addressAllowed allows %s in development only",
  (address) => {
    expect(addressAllowed(address, production)).toBe(false);
    expect(addressAllowed(address, development)).toBe(true);
  },
);

test.each([
  "10.96.0.10",
  "192.168.1.1",
  "172.16.0.1",
  "fd12:3456::1",
  "203.0.113.7",
  "2001:db8::7",
])("addressAllowed allows %s", (address) => {
  expect(addressAllowed(address, production)).toBe(true);
});

test.each([
  ["https://vault.example.com", undefined],
  ["https://VAULT.example.com.", undefined],
  ["https://a.b.wild.example.com", undefined],
  ["https://wild.example.com", "host"],
  ["https://evilwild.example.com", "host"],
  ["https://vault.example.com.evil.test", "host"],
  ["https://[fd12::1]", undefined],
  ["https://0251.0376.0251.0376", "address"],
])("refusalOf with a list of hosts returns for %s: %s", (url, refusal) => {
  const allowedHosts = ["vault.example.com", "*.wild.example.com", "fd12::1", "169.254.169.254"];
  expect(refusalOf(new URL(url), { allowHttp: false, allowedHosts })).toBe(refusal);
});

function lookupOf(...addresses: LookupAddress[]) {
  return policyLookup(production, (_host, _options, callback) => callback(null, addresses));
}

test("policyLookup refuses a name with one forbidden address among allowed ones", () => {
  const lookup = lookupOf(
    { address: "10.0.0.1", family: 4 },
    { address: "169.254.169.254", family: 4 },
  );
  lookup("rebind.example.com", { all: true }, (error) =>
    expect(error).toBeInstanceOf(AddressRefusedError),
  );
  expect.assertions(1);
});

test("policyLookup returns allowed addresses in the requested form", () => {
  const both = [
    { address: "10.0.0.1", family: 4 },
    { address: "2001:db8::7", family: 6 },
  ];
  const seen: unknown[] = [];
  lookupOf(...both)("vault.example.com", { all: true }, (...result) => seen.push(result));
  lookupOf(...both)("vault.example.com", {}, (...result) => seen.push(result));
  expect(seen).toEqual([
    [null, both],
    [null, "10.0.0.1", 4],
  ]);
});
