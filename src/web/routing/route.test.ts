import { describe, expect, test } from "vitest";
import { hrefOf, parseRoute, type Route } from "./route.ts";

describe("routes", () => {
  test.each<Route>([
    { page: "login" },
    { page: "secrets" },
    { page: "api-token" },
    { page: "secret", owner: "ann@example.com", name: "shop/db" },
    { page: "secret", owner: "ann@example.com", name: "50 % off? #1" },
    { page: "secret", owner: "ann@example.com", name: ".." },
  ])("the address of $page leads back to it", (route) => {
    expect(parseRoute(hrefOf(route))).toEqual(route);
  });

  test("no hash at all is the list of secrets", () => {
    expect(parseRoute("")).toEqual({ page: "secrets" });
    expect(parseRoute("#/")).toEqual({ page: "secrets" });
  });

  test("a mail's link carries its token", () => {
    expect(parseRoute("#/set-password?token=abc-_1")).toEqual({ page: "set-password", token: "abc-_1" });
    expect(parseRoute("#/set-password")).toEqual({ page: "set-password", token: "" });
  });

  test("the address of a page never holds a token", () => {
    expect(hrefOf({ page: "set-password", token: "abc" })).toBe("#/set-password");
  });

  test.each(["#/nowhere", "#/secrets/ann", "#/secrets/a/b/c", "#/secrets/a/%zz", "#/secrets//"])("%s is no page", (hash) => {
    expect(parseRoute(hash)).toEqual({ page: "unknown" });
  });
});
