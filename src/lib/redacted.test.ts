import { format, inspect } from "node:util";
import { expect, test } from "vitest";
import { Redacted } from "./redacted.ts";

const CANARY = "canary-redacted-4f1d09c2";

test.each<[string, (secret: Redacted<unknown>) => string]>([
  ["a conversion", String],
  ["adding to a text", (secret) => `at: ${secret.toString()}`],
  ["JSON", (secret) => JSON.stringify({ nested: [secret] })],
  ["inspect", (secret) => inspect({ nested: [secret] }, { depth: null, showHidden: true })],
  [
    "inspect without custom printers",
    (secret) => inspect(secret, { customInspect: false, showHidden: true }),
  ],
  ["console formats", (secret) => format("%s %o %O %j", secret, secret, secret, secret)],
  [
    "an error's message",
    (secret) => inspect(new Error(`no: ${String(secret)}`, { cause: secret })),
  ],
  [
    "a copy of its own members",
    (secret) => JSON.stringify(Object.assign({}, secret)) + Reflect.ownKeys(secret).join(),
  ],
])("a redacted value is not shown by %s", (_, print) => {
  for (const value of [CANARY, { token: CANARY }, Buffer.from(CANARY)]) {
    const printed = print(new Redacted(value));
    expect(printed).not.toContain(CANARY);
    expect(printed).not.toContain(Buffer.from(CANARY).toString("hex").slice(0, 16));
  }
});

test("only reveal returns the value", () => {
  expect(new Redacted(CANARY).reveal()).toBe(CANARY);
  expect(String(new Redacted(CANARY))).toBe("[redacted]");
  expect(inspect(new Redacted(CANARY))).toBe("[redacted]");
});
