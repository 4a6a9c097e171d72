import { expect, test } from "vitest";
import { describeLocation, holdsPassword, isPostgresUrl } from "./postgres-location.ts";

test.each(["postgres://h/db", "postgresql://h", "postgres:///db?host=/run/postgresql"])("%s is a database", (location) => {
  expect(isPostgresUrl(location)).toBe(true);
});

test.each([":memory:", "vault.db", "/data/postgres.db", "postgres.db", "./postgres://x", "mysql://h/db"])(
  "%s is a file",
  (location) => {
    expect(isPostgresUrl(location)).toBe(false);
  },
);

test.each([
  "postgres://u:canary@h/db",
  "postgresql://:canary@h/db",
  "postgres://u@h/db?password=canary",
  "postgres://h/db?sslmode=require&password=canary",
  // No URL by the standard, but one to PostgreSQL's clients.
  "postgres://u:canary@/db",
  "postgres://u@/db?host=/run/postgresql&password=canary",
])("%s holds a password, which no description shows", (location) => {
  expect(holdsPassword(location)).toBe(true);
  expect(describeLocation(location)).not.toContain("canary");
});

test.each(["postgres://h/db", "postgres://u@h:5432/db", "postgres://u@/db", "postgres:///db?user=u&host=/run/x", "u:p@file.db"])(
  "%s holds none",
  (location) => {
    expect(holdsPassword(location)).toBe(false);
  },
);

test("messages name the database and its host", () => {
  expect(describeLocation("postgres://u:p@db.example.com:6543/vault?sslmode=verify-full")).toBe(
    "the PostgreSQL database vault at db.example.com:6543",
  );
  expect(describeLocation("postgres:///vault?host=%2Frun%2Fpostgresql")).toBe("the PostgreSQL database vault at /run/postgresql");
  expect(describeLocation("postgres://h")).toBe("PostgreSQL at h");
});
