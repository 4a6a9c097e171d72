import { expect, test } from "vitest";
import { describeLocation, containsPassword, isPostgresUrl } from "./postgres-location.ts";

test.each(["postgres://h/db", "postgresql://h", "postgres:///db?host=/run/postgresql"])(
  "isPostgresUrl accepts %s",
  (location) => {
    expect(isPostgresUrl(location)).toBe(true);
  },
);

test.each([
  ":memory:",
  "vault.db",
  "/data/postgres.db",
  "postgres.db",
  "./postgres://x",
  "mysql://h/db",
])("isPostgresUrl takes %s for a file path", (location) => {
  expect(isPostgresUrl(location)).toBe(false);
});

test.each([
  "postgres://u:canary@h/db",
  "postgresql://:canary@h/db",
  "postgres://u@h/db?password=canary",
  "postgres://h/db?sslmode=require&password=canary",
  // Not a valid URL, but accepted by PostgreSQL's clients.
  "postgres://u:canary@/db",
  "postgres://u@/db?host=/run/postgresql&password=canary",
])("containsPassword finds the password in %s and describeLocation omits it", (location) => {
  expect(containsPassword(location)).toBe(true);
  expect(describeLocation(location)).not.toContain("canary");
});

test.each([
  "postgres://h/db",
  "postgres://u@h:5432/db",
  "postgres://u@/db",
  "postgres:///db?user=u&host=/run/x",
  "u:p@file.db",
])("containsPassword finds no password in %s", (location) => {
  expect(containsPassword(location)).toBe(false);
});

test("describeLocation names the database and its host", () => {
  expect(describeLocation("postgres://u:p@db.example.com:6543/vault?sslmode=verify-full")).toBe(
    "the PostgreSQL database vault at db.example.com:6543",
  );
  expect(describeLocation("postgres:///vault?host=%2Frun%2Fpostgresql")).toBe(
    "the PostgreSQL database vault at /run/postgresql",
  );
  expect(describeLocation("postgres://h")).toBe("PostgreSQL at h");
});
