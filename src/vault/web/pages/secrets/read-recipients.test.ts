import { expect, test } from "vitest";
import { readRecipients } from "./read-recipients.ts";

test.each([
  ["bob@example.com", { kind: "people", to: ["bob@example.com"] }],
  [
    " Bob@Example.com, cid@example.com;bob@example.com\n",
    { kind: "people", to: ["bob@example.com", "cid@example.com"] },
  ],
  [" checkout team, Berlin ", { kind: "team", to: "checkout team, Berlin" }],
])("recipients of %j", (text, recipients) => {
  expect(readRecipients(text)).toEqual(recipients);
});

test.each([
  [
    "bob@example.com, checkout",
    "“checkout” is not an email address. Share with a team separately.",
  ],
  ["bob@", "“bob@” is not an email address."],
  ["a@b@c", "“a@b@c” is not an email address."],
])("rejects %j and names the entry", (text, message) => {
  expect(() => readRecipients(text)).toThrow(message);
});
