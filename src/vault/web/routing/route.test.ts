import { describe, expect, test } from "vitest";
import { hrefOf, parseRoute, type Route } from "./route.ts";

describe("route", () => {
  test.each<Route>([
    { page: "login" },
    { page: "secrets" },
    { page: "secrets", query: "search=a%26b&page=2" },
    { page: "api-token" },
    { page: "secret", owner: "ann@example.com", name: "shop/db" },
    { page: "secret", owner: "ann@example.com", name: "50 % off? #1" },
    { page: "secret", owner: "ann@example.com", name: "shop?edit", edits: true },
    { page: "secret", owner: "ann@example.com", name: ".." },
  ])("of $page is parsed from its own address", (route) => {
    expect(parseRoute(hrefOf(route))).toEqual(route);
  });

  test("of an empty hash is the list of secrets", () => {
    expect(parseRoute("")).toEqual({ page: "secrets" });
    expect(parseRoute("#/")).toEqual({ page: "secrets" });
  });

  test("of an email link carries its token", () => {
    expect(parseRoute("#/set-password?token=abc-_1")).toEqual({
      page: "set-password",
      token: "abc-_1",
    });
    expect(parseRoute("#/set-password")).toEqual({ page: "set-password", token: "" });
  });

  test("of the login page is also parsed from its former name, which sent emails link to", () => {
    expect(parseRoute("#/log-in")).toEqual({ page: "login" });
  });

  test("address never contains a token", () => {
    expect(hrefOf({ page: "set-password", token: "abc" })).toBe("#/set-password");
  });

  test.each(["#/nowhere", "#/secrets/ann", "#/secrets/a/b/c", "#/secrets/a/%zz", "#/secrets//"])(
    "of %s is unknown",
    (hash) => {
      expect(parseRoute(hash)).toEqual({ page: "unknown" });
    },
  );
});
