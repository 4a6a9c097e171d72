import { expect, test } from "vitest";
import { isEmailAddress } from "../../../protocol/email-address.ts";
import { isDeliverable } from "./email-transport.ts";

test.each([
  "bob@example.com",
  "b.o+b-1_'x'@sub.example.com",
  "jürgen@exämple.com",
  '"a,b"@example.com',
  "bob@localhost",
  "bob@127.0.0.1",
])("%s gets mail", (email) => {
  expect(isEmailAddress(email)).toBe(true);
  expect(isDeliverable(email)).toBe(true);
});

test.each([
  "<victim@example.com",
  "a,b@example.com",
  "a:b@example.com",
  "a;b@example.com",
  "a(b)@example.com",
  ".a@example.com",
  "a..b@example.com",
  'a"b@example.com',
  '"a\\"b"@example.com',
  '"<a>"@example.com',
  "bob@example.com>",
  "bob@[127.0.0.1]",
  "bob@-example.com",
  "bob@example..com",
  "bob@example.com.",
  "bob@a,b",
])("%s may be an account's address, but gets no mail", (email) => {
  expect(isDeliverable(email)).toBe(false);
});

test.each([
  "",
  "bob",
  "@example.com",
  "bob@",
  "bob@example.com\r\nBcc: eve@example.com",
  "bob@exa mple.com",
  "b\u202eob@example.com",
])("%j is no address at all", (text) => {
  expect(isEmailAddress(text)).toBe(false);
  expect(isDeliverable(text)).toBe(false);
});
