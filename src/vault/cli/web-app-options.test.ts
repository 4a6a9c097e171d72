import { Command, InvalidArgumentError } from "commander";
import { expect, test } from "vitest";
import {
  addWebAppOptions,
  parseAllowedHosts,
  parseAppUrl,
  parseDomains,
  parseTrustedProxies,
  webAppError,
  webAppOptions,
} from "./web-app-options.ts";

test.each([
  ["https://vault.example.com", "https://vault.example.com"],
  ["https://Vault.Example.com/", "https://vault.example.com"],
  ["https://vault.example.com:443", "https://vault.example.com"],
  ["http://127.0.0.1:8200", "http://127.0.0.1:8200"],
  ["http://[::1]:8200/", "http://[::1]:8200"],
])("parses the application URL %s as the origin %s", (text, origin) => {
  expect(parseAppUrl(text)).toBe(origin);
});

test.each([
  "",
  "vault.example.com",
  "ftp://vault.example.com",
  "javascript:alert(1)",
  "https://vault.example.com/app",
  "https://vault.example.com/?a=b",
  "https://vault.example.com/#/login",
  "https://user:password@vault.example.com",
  "https://",
])("rejects %j as the URL of the application", (text) => {
  expect(() => parseAppUrl(text)).toThrow(InvalidArgumentError);
});

test("parses proxies as addresses and networks", () => {
  expect(parseTrustedProxies("10.0.0.0/8, 192.0.2.7,fd00::/8,::1")).toEqual([
    "10.0.0.0/8",
    "192.0.2.7",
    "fd00::/8",
    "::1",
  ]);
});

test.each([
  "",
  "proxy.example.com",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "fd00::/129",
  "10.0.0.1,",
  "0.0.0.0/0",
  "::/0",
  "loopback",
])("rejects %j as a list of proxies", (text) => {
  expect(() => parseTrustedProxies(text)).toThrow(/10\.0\.0\.0\/8/u);
});

test("rejects sessions over plain http on non-loopback addresses unless allowed", () => {
  for (const appUrl of [
    "http://127.0.0.1:8200",
    "http://localhost:8200",
    "http://[::1]:8200",
    "https://vault.example.com",
  ]) {
    expect([appUrl, webAppError({ appUrl })]).toEqual([appUrl, undefined]);
  }
  expect(webAppError({})).toBeUndefined();
  expect(webAppError({ appUrl: "http://vault.example.com" })).toContain("https --app-url");
  expect(
    webAppError({ appUrl: "http://vault.example.com", allowHttpListen: true }),
  ).toBeUndefined();
});

test("admits invited addresses only, unless another mode is asked for", () => {
  const command = new Command().exitOverride();
  addWebAppOptions(command);
  expect(command.parse([], { from: "user" }).opts()).toMatchObject({ signUp: "invited" });
  expect(command.parse(["--sign-up", "open"], { from: "user" }).opts()).toMatchObject({
    signUp: "open",
  });
});

test("parses domains in lower case, and leaves them out of the policy when there are none", () => {
  expect(parseDomains("Example.com, bücher.example,localhost")).toEqual([
    "example.com",
    "bücher.example",
    "localhost",
  ]);
  expect(webAppOptions({ signUp: "invited", signUpDomains: ["example.com"] }).signUp).toEqual({
    mode: "invited",
    domains: ["example.com"],
  });
  expect(webAppOptions({ signUp: "closed" }).signUp).toEqual({ mode: "closed" });
});

test.each([
  "",
  "example.com,",
  "a@example.com",
  "*.example.com",
  "example..com",
  "https://example.com",
])("rejects %j as domains", (text) => {
  expect(() => parseDomains(text)).toThrow(InvalidArgumentError);
});

test("parses host names and wildcards in lower case", () => {
  expect(parseAllowedHosts("Vault.vaultsync.SVC, *.svc,vault,my_vault,v1.2b")).toEqual([
    "vault.vaultsync.svc",
    "*.svc",
    "vault",
    "my_vault",
    "v1.2b",
  ]);
});

test.each([
  "",
  "vault,",
  "*",
  "*.",
  "a.*.svc",
  "vault:8200",
  "https://vault",
  "10.0.0.1",
  "[::1]",
  "bücher.example",
  "a..b",
  "vault.",
])("rejects %j as host names", (text) => {
  expect(() => parseAllowedHosts(text)).toThrow(InvalidArgumentError);
});
