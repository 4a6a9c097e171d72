import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RESERVED_BY_OTHERS, targetPolicies } from "./target-policies.ts";

test("the policy of targets denies the labels and annotations that a spec must not have", () => {
  const policy = readFileSync(
    new URL("../../../deploy/chart/files/policies/targets.yaml", import.meta.url),
    "utf8",
  );
  expect(policy.split(`!k.matches('${RESERVED_BY_OTHERS}')`)).toHaveLength(3);
});

test.each([
  "kubernetes.io/service-account.name",
  "cert-manager.io/allow-direct-injection",
  "reflector.v1.k8s.emberstack.com/reflection-allowed",
  "replicator.v1.mittwald.de/replicate-to",
  "sealedsecrets.bitnami.com/managed",
  "argocd.argoproj.io/secret-type",
  "merge.vaultsync.dev/x",
])("a spec must not have the label or annotation %s", (name) => {
  for (const field of ["labels", "annotations"] as const) {
    expect(targetPolicies[field].safeParse({ [name]: "true" }).success).toBe(false);
    expect(
      targetPolicies[field].safeParse({ [`example.com/${name.split("/")[1]}`]: "true" }).success,
    ).toBe(true);
  }
});
