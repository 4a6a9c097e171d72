import { expect, test } from "vitest";
import { schemaOf, specTable } from "../../../test/lab/kube/spec-table.ts";
import { clusterVaultFileKind, clusterVaultSecretKind } from "./kinds.ts";
import { explainProblems } from "./validation.ts";

test.each(specTable)("the schema of $what", ({ kind, spec, rejected }) => {
  const parsed = schemaOf.get(kind)?.safeParse(spec);
  expect(parsed?.success).toBe(rejected === undefined);
  expect(parsed?.error ? explainProblems(parsed.error) : "").toContain(rejected?.message ?? "");
});

test.each(specTable)("parsing is idempotent: $what", ({ kind, spec }) => {
  const schema = schemaOf.get(kind);
  const once = schema?.safeParse(spec);
  const again = schema?.safeParse(once?.data ?? spec);
  expect(again).toMatchObject({ success: once?.success });
  expect(again?.data).toEqual(once?.data);
});

test.each([clusterVaultSecretKind, clusterVaultFileKind])(
  "the schema of a $kind drops rolloutRestart",
  (kind) => {
    const rows = specTable.filter(
      (row) => row.kind === kind && row.what.includes("rolloutRestart"),
    );
    expect(rows.map(({ spec }) => schemaOf.get(kind)?.safeParse(spec).data)).toEqual([
      expect.not.objectContaining({ rolloutRestart: expect.anything() }),
    ]);
  },
);
