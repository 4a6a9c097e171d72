import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import * as names from "../../src/operator/api/names.ts";
import { eventReasons } from "../../src/operator/api/reasons.ts";

const page = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const Role = z.object({
  rules: z.array(z.object({ resources: z.array(z.string()), verbs: z.array(z.string()) })),
});

test("docs/resources.md names every label, annotation and type of the operator", () => {
  expect(
    Object.values(names).filter((name) => !page("docs/resources.md").includes(`\`${name}\``)),
  ).toEqual([]);
});

test("docs/status.md lists every reason of an event about a target", () => {
  expect(
    Object.values(eventReasons).filter(
      (reason) => !page("docs/status.md").includes(`| \`${reason}\` |`),
    ),
  ).toEqual([]);
});

test("docs/security.md lists every resource that the operator may use, with all verbs", () => {
  const rows = page("docs/security.md").split("\n");
  const rules = page("deploy/chart/files/base/rbac.yaml")
    .split(/^---$/mu)
    .map((document) => Role.safeParse(parse(document)).data)
    .flatMap((role) => role?.rules ?? []);
  expect(rules.length).toBeGreaterThan(5);
  const missing = rules.flatMap(({ resources, verbs }) =>
    resources
      .map((resource) => (resource.endsWith("/status") ? "…/status" : resource))
      .filter(
        (resource) =>
          !rows.some((row) => row.includes(resource) && verbs.every((verb) => row.includes(verb))),
      ),
  );
  expect(missing).toEqual([]);
});

test("docs/resources.md describes every field", () => {
  const fields = page("docs/resources.md")
    .split("\n")
    .filter((line) => /^\| `(?:spec|status)\./u.test(line));
  expect(fields.length).toBeGreaterThan(50);
  expect(fields.filter((line) => /\|\s*\|$/u.test(line))).toEqual([]);
});

test("git ignores the keys and data that the vault writes with the paths of the documentation", () => {
  const files = [
    "master.key",
    "master.key.5f0c7a3b9d1e2846.retired",
    "vault.db",
    "vault.db-wal",
    "vault.db-audit.jsonl",
    "new.db",
  ];
  const { stdout } = spawnSync(
    "git",
    ["check-ignore", "--no-index", ...files, "vault.db-mail/1.eml", "README.md"],
    {
      encoding: "utf8",
    },
  );
  expect(stdout.trim().split("\n")).toEqual([...files, "vault.db-mail/1.eml"]);
});
