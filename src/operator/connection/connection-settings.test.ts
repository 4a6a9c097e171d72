import { expect, test } from "vitest";
import type { ConnectionSpec } from "../api/vault-connection.ts";
import { settingsOf } from "./connection-settings.ts";

const least: ConnectionSpec = {
  url: "https://vault.example.com",
  email: "ops@example.com",
  auth: { passwordSecretRef: { name: "login" } },
};

test("settingsOf applies the defaults of omitted fields", () => {
  expect(settingsOf(least)).toEqual({
    url: "https://vault.example.com",
    email: "ops@example.com",
    scope: {
      cloud_type: "*",
      environment_type: "*",
      application_type: "*",
      classification: "*",
      secret_name: "*",
    },
    onlyReferenced: false,
    reportUse: false,
    tokenLifetimeMs: 24 * 3_600_000,
    refreshIntervalMs: 60_000,
    timeoutMs: 10_000,
    requestsPerSecond: Infinity,
    follow: "Auto",
  });
});

test("settingsOf converts durations to milliseconds", () => {
  const given = {
    tokenLifetime: "1h30m",
    refreshInterval: "5s",
    timeout: "1500ms",
    requestsPerSecond: 3,
    follow: "Interval",
  } as const;
  expect(settingsOf({ ...least, ...given })).toMatchObject({
    tokenLifetimeMs: 5_400_000,
    refreshIntervalMs: 5_000,
    timeoutMs: 1_500,
    requestsPerSecond: 3,
    follow: "Interval",
  });
});

test("settingsOf converts a scope attribute to a set, and * to every value", () => {
  const scope = {
    cloudType: ["aws", "aws"],
    environmentType: ["prod", "*"],
    secretName: ["a", "b"],
  };
  expect(settingsOf({ ...least, scope }).scope).toEqual({
    cloud_type: new Set(["aws"]),
    environment_type: "*",
    application_type: "*",
    classification: "*",
    secret_name: new Set(["a", "b"]),
  });
});

test.each([
  ["https://vault.example.com/", "https://vault.example.com"],
  ["https://vault.example.com/base//", "https://vault.example.com/base"],
])("settingsOf removes trailing slashes from %s", (url, base) => {
  expect(settingsOf({ ...least, url }).url).toBe(base);
});
