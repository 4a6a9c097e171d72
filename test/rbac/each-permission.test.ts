import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import {
  type Manifest,
  Manifest as ManifestSchema,
  manifestsOf,
  permissionsOf,
} from "../lab/real/granted.ts";
import { withoutStreamedLists } from "../e2e/support/without-streamed-lists.ts";
import { installRollouts } from "../lab/real/workloads.ts";
import { type ApiProxy, startApiProxy } from "../faults/support/api-proxy.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { PermissionScene } from "./permission-scene.ts";

/**
 * Each permission of deploy/namespaced, removed from a separate real operator: `npm test -- rbac`.
 */
const files = [
  "deploy/chart/files/tenant/rbac.yaml",
  "deploy/chart/files/namespaced/rbac.yaml",
  "deploy/chart/files/base/rbac.yaml",
];
const manifests = files.flatMap((file) =>
  parseAllDocuments(readFileSync(file, "utf8")).map((one) => ManifestSchema.parse(one.toJS())),
);
const permissions = [...permissionsOf(manifests.filter(({ kind }) => kind === "Role"))];

/** The API server checks the permission for finalizers when it creates an object with an owner. */
const denials: Readonly<Record<string, string>> = {
  "update vaultsync.dev/vaultsecrets/finalizers": "create /secrets",
  "update vaultsync.dev/vaultfiles/finalizers": "create /configmaps",
};

let plane: ControlPlane;
let started: ApiProxy;
beforeAll(async () => {
  plane = await sharedControlPlane();
  await installRollouts(plane);
  started = await startApiProxy();
  withoutStreamedLists(started.proxy);
});
afterAll(() => started.proxy[Symbol.asyncDispose]());

const rbac = ["Role", "RoleBinding", "ServiceAccount"];
const isRbac = ({ kind }: Manifest): boolean => rbac.includes(kind);

function createScene(without?: string): Promise<PermissionScene> {
  return PermissionScene.create({
    plane,
    api: started.api,
    own: async (namespace) =>
      (await manifestsOf(plane, "deploy/namespaced", namespace)).filter(isRbac),
    tenant: (namespace) => manifestsOf(plane, "deploy/namespaced/tenant", namespace),
    ...(without !== undefined && { without }),
  });
}

test.concurrent("with all permissions nothing is denied", async () => {
  await using scene = await createScene();
  expect(await scene.untilDenied()).toEqual([]);
  expect(scene.failure).toBe(undefined);
});

test.concurrent.each(permissions)("the operator needs %s", async (permission) => {
  await using scene = await createScene(permission);
  const denied = await scene.untilDenied();
  expect(denied, scene.log).toEqual([denials[permission] ?? permission]);
});
