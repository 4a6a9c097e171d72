import { readFile } from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { customResourceDefinitions } from "../../../src/operator/api/crd.ts";
import { API_GROUP, API_VERSION, type Kind } from "../../../src/operator/api/kinds.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { specTable } from "../../lab/kube/spec-table.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const Definition = z.object({ metadata: z.object({ name: z.string() }) });

let controlPlane: ControlPlane;
let namespace: string;

/** Validates a resource at the API server without storing it. */
function dryRun(
  { kind, plural, namespaced }: Kind,
  spec: unknown,
): Promise<{ readonly status: number; readonly body: string }> {
  const scope = namespaced ? `namespaces/${namespace}/` : "";
  const path = `/apis/${API_GROUP}/${API_VERSION}/${scope}${plural}?dryRun=All`;
  return controlPlane.request("POST", path, {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { name: "r" },
    spec,
  });
}

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  namespace = await controlPlane.createNamespace("admission");
  for (const file of customResourceDefinitions().keys()) {
    const definition: unknown = parse(
      await readFile(new URL(`../../../crds/${file}`, import.meta.url), "utf8"),
    );
    const { name } = Definition.parse(definition).metadata;
    const created = await controlPlane.request("POST", DEFINITIONS, definition);
    // Another test file of the same run may have created it.
    if (![201, 409].includes(created.status)) throw new Error(`${name}: ${created.body}`);
  }
  for (const { kind } of specTable)
    await waitUntil(
      `the API server serves ${kind.plural}`,
      async () => (await dryRun(kind, {})).status !== 404,
    );
});

test.each(specTable)("the CRD of $what", async ({ kind, spec, rejected }) => {
  const { status, body } = await dryRun(kind, spec);
  expect(status, body).toBe(rejected === undefined ? 201 : 422);
  expect(body).toContain(
    rejected?.both === true ? JSON.stringify(rejected.message).slice(1, -1) : "",
  );
});
