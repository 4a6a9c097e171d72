import { describe, expect, test } from "vitest";
import { certificate } from "../../../test/lab/certificates.ts";
import type { ValueContract } from "../api/value-contract.ts";
import { checkValueAside } from "./check-value-aside.ts";
import { brokenRule } from "./value-contract.ts";

const NOW = Date.now();
const DAY_MS = 86_400_000;

/** Returns the rule that a value does not fit, and what it expects; empty if it fits. */
function broken(
  contract: ValueContract,
  value: string | Uint8Array,
  now: number | undefined = NOW,
): string {
  const one = brokenRule(contract, { bytes: Buffer.from(value as string), now });
  return one === undefined ? "" : `${one.rule}: ${one.expected}`;
}

const YAML = "format: YAML of at most 131072 characters";

test.each<[string, ValueContract, string | Uint8Array, string]>([
  ["any text", { notEmpty: true }, "x", ""],
  ["bytes that are no text", { notEmpty: true }, Uint8Array.of(0xff), ""],
  ["nothing", { notEmpty: true }, "", "notEmpty: more than white space"],
  ["a line break", { notEmpty: true }, " \r\n", "notEmpty: more than white space"],
  ["nothing without a rule against it", { notEmpty: false }, "", ""],
  ["as many characters as required", { minLength: 3, maxLength: 3 }, "äöü", ""],
  ["a character of four bytes", { maxLength: 1 }, "😀", ""],
  ["one character less", { minLength: 4 }, "äöü", "minLength: at least 4 characters"],
  ["one character more", { maxLength: 2 }, "äöü", "maxLength: at most 2 characters"],
  [
    "bytes that are no text by their number",
    { minLength: 2, maxLength: 2 },
    Uint8Array.of(0xff, 0x80),
    "",
  ],
  ["a part that matches", { pattern: "b+" }, "abc", ""],
  [
    "a line break after the match",
    { pattern: "^[0-9]+$" },
    "12\n",
    "pattern: text that matches ^[0-9]+$",
  ],
  ["bytes instead of text", { pattern: "." }, Uint8Array.of(0xff), "pattern: text that matches ."],
  ["JSON", { format: "JSON" }, '{"a": [1]}\n', ""],
  ["a JSON text that ends early", { format: "JSON" }, '{"a": [1', "format: JSON"],
  ["no text as JSON", { format: "JSON" }, "", "format: JSON"],
  ["YAML", { format: "YAML" }, "a: 1\n---\nb: [x]\n", ""],
  ["YAML with a wrong indent", { format: "YAML" }, "a: b: c\n", YAML],
  ["YAML with two members of one name", { format: "YAML" }, "a: 1\na: 2\n", YAML],
  ["deep YAML", { format: "YAML" }, "[".repeat(20_000), YAML],
  ["long YAML", { format: "YAML" }, " ".repeat(128 * 1024 + 1), YAML],
  ["text without PEM", { format: "PEM" }, "hello", "format: PEM blocks"],
  [
    "a PEM block without an end",
    { format: "PEM" },
    "-----BEGIN KEY-----\nAAAA\n",
    "format: PEM blocks",
  ],
  [
    "a PEM block of other text",
    { format: "PEM" },
    "-----BEGIN KEY-----\n???\n-----END KEY-----\n",
    "format: PEM blocks",
  ],
  [
    "a PEM block with headers",
    { format: "PEM" },
    "-----BEGIN KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END KEY-----\n",
    "",
  ],
  ["a URL", { format: "URL" }, "https://user:p%20w@shop.example.com:8443/a?b=c#d", ""],
  ["a URL of two hosts", { format: "URL" }, "mongodb://a:1,b:2/shop?replicaSet=x", ""],
  ["a URL of a driver", { format: "URL" }, "jdbc:postgresql://db/shop", ""],
  [
    "a URL with a wrong port",
    { format: "URL" },
    "https://shop.example.com:port",
    "format: a URL, such as postgres://db/shop",
  ],
  ["a path", { format: "URL" }, "/shop", "format: a URL, such as postgres://db/shop"],
  [
    "a URL and a line break",
    { format: "URL" },
    "https://a.example.com\n",
    "format: a URL, such as postgres://db/shop",
  ],
  ["base64 in lines", { format: "Base64" }, "YWJj\nZGU=\n", ""],
  ["text that is not base64", { format: "Base64" }, "a-b", "format: base64"],
  ["an integer", { format: "Integer" }, "-17", ""],
  ["a fraction", { format: "Integer" }, "1.5", "format: an integer"],
  ["an integer and a line break", { format: "Integer" }, "1\n", "format: an integer"],
  [
    "several rules, of which the last fails",
    { notEmpty: true, minLength: 1, format: "Integer" },
    "x",
    "format: an integer",
  ],
])("brokenRule for %s", (_, contract, value, expected) => {
  expect(broken(contract, value)).toBe(expected);
});

describe("the rule certificate", () => {
  const one = certificate("shop", {
    hosts: ["shop.example.com", "*.shop.example.com"],
    notBefore: new Date(NOW - DAY_MS),
    notAfter: new Date(NOW + 7 * DAY_MS),
  });
  const authority = certificate("authority", { notAfter: new Date(NOW - 1) });

  test("accepts a chain by its first certificate", () => {
    const contract = { certificate: { validFor: "6d", dnsName: "shop.example.com" } };
    expect(broken(contract, `${one.cert}${authority.cert}`)).toBe("");
    expect(broken({ certificate: { dnsName: "eu.shop.example.com" } }, one.cert)).toBe("");
    expect(broken({ certificate: {} }, one.cert)).toBe("");
  });

  test("rejects a certificate for another host, although its subject has the name", () => {
    const contract = { certificate: { dnsName: "shop" } };
    expect(broken(contract, one.cert)).toBe("certificate: a certificate for shop");
  });

  test("rejects a certificate that is not valid now, or not for long enough", () => {
    const [inMinutes, long] = [{ validFor: "90m" }, { validFor: "8d" }];
    const end = NOW + 7 * DAY_MS;
    expect(broken({ certificate: long }, one.cert)).toBe(
      "certificate: a certificate that is valid for 8d",
    );
    expect(broken({ certificate: inMinutes }, one.cert, end - 91 * 60_000)).toBe("");
    expect(broken({ certificate: inMinutes }, one.cert, end - 89 * 60_000)).toBe(
      "certificate: a certificate that is valid for 90m",
    );
    expect(broken({ certificate: {} }, one.cert, end + 1_000)).toBe(
      "certificate: a certificate that has not expired",
    );
    expect(broken({ certificate: {} }, one.cert, NOW - 2 * DAY_MS)).toBe(
      "certificate: a certificate that is valid now",
    );
  });

  test("does not reject a version that a target has already, because time has passed", () => {
    const contract = { certificate: { validFor: "8d", dnsName: "shop.example.com" } };
    expect(brokenRule(contract, { bytes: Buffer.from(one.cert), now: undefined })).toBeUndefined();
  });

  test("rejects text without a certificate, and one that cannot be parsed", () => {
    const text = one.cert.replace(/\nM/, "\nN");
    for (const value of ["hello", text, one.keyPem])
      expect(broken({ certificate: {} }, value)).toBe("certificate: a PEM certificate");
  });
});

test("a long value is checked in a thread, with the same result", async () => {
  const bytes = Buffer.from("a: 1\n".repeat(2_000));
  const value = { bytes, now: NOW };
  expect(await checkValueAside({ format: "YAML" }, value, "shop")).toEqual(
    brokenRule({ format: "YAML" }, value),
  );
  expect(await checkValueAside({ pattern: "^(a: 1\\n)+$" }, value, "shop")).toBeUndefined();
});

test("a value that takes much memory to check is rejected, and ends no process", async () => {
  const bytes = Buffer.from("[".repeat(128 * 1024));
  expect(await checkValueAside({ format: "YAML" }, { bytes, now: NOW }, "shop")).toEqual({
    rule: "format",
    expected: "a value that can be checked with less memory: make it shorter",
  });
  const usual = Buffer.from(
    Array.from({ length: 4_000 }, (_, at) => `key-${at}:\n  - name: value ${at}\n`).join(""),
  ).subarray(0, 120_000);
  const end = usual.lastIndexOf("\nkey");
  const value = { bytes: usual.subarray(0, end), now: NOW };
  expect(await checkValueAside({ format: "YAML" }, value, "shop")).toBeUndefined();
});
