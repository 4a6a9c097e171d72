import { expect, test } from "vitest";
import { readRecipients } from "./read-recipients.ts";

const team = "checkout team, Berlin";
const teams = [{ group_id: team, creator: "ann@example.com", members: [] }];

test.each([
  ["bob@example.com", { kind: "people", to: ["bob@example.com"] }],
  [
    " Bob@Example.com, cid@example.com;bob@example.com\n",
    { kind: "people", to: ["bob@example.com", "cid@example.com"] },
  ],
  [` ${team} `, { kind: "team", to: team, creator: "ann@example.com" }],
])("recipients of %j", (text, recipients) => {
  expect(readRecipients(text, teams)).toEqual(recipients);
});

test.each([
  [
    "bob@example.com, checkout",
    "“checkout” is not an email address. Share with a team separately.",
  ],
  ["bob@", "“bob@” is not an email address."],
  ["a@b@c", "“a@b@c” is not an email address."],
  ["checkout", "You have no team “checkout”."],
])("rejects %j and names the entry", (text, message) => {
  expect(() => readRecipients(text, teams)).toThrow(message);
});
