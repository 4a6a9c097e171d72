import { expect, test } from "vitest";
import { parseSmtpUrl } from "./smtp-url.ts";

test.each([
  ["smtps://mail.example.com", { host: "mail.example.com", port: 465, tls: "implicit" }],
  ["smtp://mail.example.com", { host: "mail.example.com", port: 587, tls: "required" }],
  [
    "smtp://mail.example.com:25?requireTLS=false",
    { host: "mail.example.com", port: 25, tls: "offered" },
  ],
  ["smtp://127.0.0.1:2525", { host: "127.0.0.1", port: 2525, tls: "none" }],
  ["smtp://[::1]:2525\n", { host: "::1", port: 2525, tls: "none" }],
  ["smtp://localhost?requireTLS=true", { host: "localhost", port: 587, tls: "required" }],
  [
    "smtps://me%40example.com:p%3Aw%2F%C3%B6@mail.example.com:4465/",
    {
      host: "mail.example.com",
      port: 4465,
      tls: "implicit",
      user: "me@example.com",
      password: "p:w/ö",
    },
  ],
])("%s", (url, server) => {
  expect(parseSmtpUrl(url)).toEqual(server);
});

const SECRET = "canary-51f0";
test.each([
  [`http://u:${SECRET}@mail.example.com`, "expected smtp://HOST:PORT"],
  [`u:${SECRET}@mail.example.com`, "expected smtp://HOST:PORT"],
  ["", "expected smtp://HOST:PORT"],
  [`smtp://u:${SECRET}@`, "expected smtp://HOST:PORT"],
  [`smtp://u:${SECRET}@mail.example.com/path`, "expected smtp://HOST:PORT"],
  [`smtp://:${SECRET}@mail.example.com`, "user and password require each other"],
  [`smtp://${SECRET}@mail.example.com`, "user and password require each other"],
  [`smtp://u:${SECRET}%@mail.example.com`, "percent-encoded"],
  [`smtp://u:${SECRET}@mail.example.com?requireTLS=no`, "true or false"],
  [`smtp://u:${SECRET}@mail.example.com?tls=${SECRET}`, "the only parameter is requireTLS"],
  [`smtp://u:${SECRET}@mail.example.com?requireTLS=false`, "without TLS"],
])("a URL that does not do is refused without being quoted: %#", (url, why) => {
  const failure = (() => {
    try {
      return parseSmtpUrl(url);
    } catch (error) {
      return String(error);
    }
  })();
  expect(failure).toContain(why);
  expect(failure).not.toContain(SECRET);
});
