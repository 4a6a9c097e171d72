import { describe, expect, test } from "vitest";
import { listedSecret } from "../../../../../test/lab/vault/listed-secret.ts";
import { compareEnvironments, environmentsIn, hasGap } from "./environments.ts";

const secret = (key_name: string, environment_type = "dev", owner = "ann@example.com") =>
  listedSecret(key_name, { metadata: { environment_type }, owner });

describe("environments in a folder", () => {
  test("are folders with a usual name, in the order in which a change reaches them", () => {
    const list = ["Production/a", "staging/a", "dev/a", "docs/a", "prod"].map((name) =>
      secret(name),
    );
    expect(environmentsIn(list, "")).toEqual(["dev", "staging", "Production"]);
  });

  test("are folders named like the environment of a secret", () => {
    expect(environmentsIn([secret("shop/eu/a", "EU"), secret("shop/us/a", "us")], "shop")).toEqual([
      "eu",
      "us",
    ]);
    expect(environmentsIn([secret("shop/eu/a"), secret("shop/us/a")], "shop")).toEqual([]);
  });

  test("are none where there is only one", () => {
    expect(environmentsIn([secret("prod/a"), secret("docs/a")], "")).toEqual([]);
  });
});

describe("comparison of environments", () => {
  const list = [
    secret("shop/prod/db/password"),
    secret("shop/staging/db/password"),
    secret("shop/staging/mail"),
    secret("shop/staging/mail", "dev", "bob@example.com"),
    secret("shop/docs/mail"),
    secret("staging/key"),
    secret("shop/prod/"),
  ];
  const rows = compareEnvironments(list, "shop", ["staging", "prod"]);

  test("has one row a name, with the secrets of each environment", () => {
    expect(rows.map(({ name, cells }) => [name, cells.map(({ length }) => length)])).toEqual([
      ["db/password", [1, 1]],
      ["mail", [2, 0]],
    ]);
  });

  test("knows which names an environment lacks", () => {
    expect(rows.map(hasGap)).toEqual([false, true]);
  });
});
