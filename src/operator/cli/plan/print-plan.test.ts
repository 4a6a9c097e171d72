import { expect, test } from "vitest";
import { type PlannedKey, tablesOf } from "./print-plan.ts";

const row = { resource: "vaultsecret/db", namespace: "shop", target: "Secret/db" };
const of = (facts: Partial<PlannedKey>): PlannedKey => ({
  ...row,
  key: "password",
  source: "db",
  ...facts,
});

test.each<[Partial<PlannedKey>, string]>([
  [{}, "-"],
  [{ version: 5 }, "5"],
  [{ served: 3, version: 5, change: "version" }, "3 → 5"],
  [{ version: 5, change: "version" }, "? → 5"],
  [{ served: 3, version: 1, latest: 5, change: "version" }, "3 → 1 (latest 5)"],
  [{ version: 5, change: "new" }, "5 (new)"],
  [{ change: "new" }, "- (new)"],
  [{ served: 3, change: "leaving" }, "3 (leaving)"],
  [{ served: 3, version: 3, change: "content" }, "3 (changed)"],
  [{ served: 3, version: 3, change: "none" }, "3"],
  [{ served: 3, version: 3, latest: 5, change: "none" }, "3 (latest 5)"],
  [{ served: 3, change: "unknown" }, "3 → ?"],
  [{ version: 5, change: "unknown" }, "? → 5"],
])("the versions of %j are %j", (facts, text) => {
  const [, line = ""] = tablesOf({ keys: [of(facts)] }).split("\n");
  expect(line.split("  ").at(-1)?.trim()).toBe(text);
});

test("a table has the columns that a key has, and a second one the restarts", () => {
  const keys = [
    of({ version: 5, author: "ann@example.com" }),
    of({ key: "user", waitsFor: "Held", updates: "AwaitingApproval" }),
  ];
  const restart = { namespace: "shop", resource: "vaultsecret/db", target: "Secret/db" };
  const restarts = [
    { ...restart, workload: "deployment/web", restart: "rolloutRestart" },
    {
      ...restart,
      workload: "deployment/auto",
      restart: "auto",
      restartsAt: "2026-12-24T02:00:00Z",
    },
    { ...restart, workload: "cronjob/report", restart: "none" },
  ] as const;
  expect(tablesOf({ keys, restarts })).toBe(
    [
      "NAMESPACE  RESOURCE        TARGET     KEY       SOURCE  VERSION  BY               WAITS FOR  UPDATES",
      "shop       vaultsecret/db  Secret/db  password  db      5        ann@example.com  -          -",
      "shop       vaultsecret/db  Secret/db  user      db      -        -                Held       AwaitingApproval",
      "",
      "NAMESPACE  TARGET     WORKLOAD         RESTART",
      "shop       Secret/db  deployment/web   restarted",
      "shop       Secret/db  deployment/auto  restarted in the window at 2026-12-24T02:00:00Z",
      "shop       Secret/db  cronjob/report   not restarted",
      "",
    ].join("\n"),
  );
  expect(tablesOf({ keys: [], restarts: [] })).toBe("");
});
