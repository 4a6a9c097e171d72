import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { type OperatorModes, requiredAccess } from "./permissions.ts";

const role = z.object({
  kind: z.enum(["ClusterRole", "Role"]),
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      verbs: z.array(z.string()),
    }),
  ),
});

const ALL: OperatorModes = { targetWatch: "on", autoRestart: "on", restarted: new Set() };

test("the permissions that the doctor checks are those of deploy/base", () => {
  const documents = parseAllDocuments(
    readFileSync("deploy/chart/files/base/rbac.yaml", "utf8"),
  ).map((document) => role.safeParse(document.toJS()));
  const granted = documents.flatMap(({ data }) =>
    (data?.rules ?? []).flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => [data?.kind, verb, group, resource].join(" ")),
        ),
      ),
    ),
  );
  const checked = requiredAccess("shop", "vaultsync-system", true, ALL).map(
    ({ namespace, verb, group, resource, subresource }) => {
      const kind = namespace === "vaultsync-system" ? "Role" : "ClusterRole";
      return [
        kind,
        verb,
        group,
        subresource === undefined ? resource : `${resource}/${subresource}`,
      ].join(" ");
    },
  );
  expect(checked.toSorted()).toEqual(granted.toSorted());
});

test("an operator with Roles only needs no permission for the cluster", () => {
  const namespaces = requiredAccess("shop", "vaultsync-system", false, ALL).map(
    ({ namespace }) => namespace,
  );
  expect(new Set(namespaces)).toEqual(new Set(["shop", "vaultsync-system"]));
});

const requiredBy = (modes: OperatorModes): string[] =>
  requiredAccess("shop", "vaultsync-system", true, modes).map(
    ({ verb, resource }) => `${verb} ${resource}`,
  );

test.each([
  [{ targetWatch: "off" }, ["list secrets", "watch secrets"]],
  [
    { autoRestart: "off" },
    ["deployments", "statefulsets", "daemonsets", "rollouts"]
      .flatMap((plural) => ["get", "list", "watch", "patch"].map((verb) => `${verb} ${plural}`))
      .concat("list pods"),
  ],
] as const)("an operator with %j works without the permissions for that", (modes, spared) => {
  const required = requiredBy({ ...ALL, ...modes });
  expect(requiredBy(ALL).filter((one) => !required.includes(one))).toEqual(spared);
});
