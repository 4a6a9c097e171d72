import { expect, test } from "vitest";
import { podReferences } from "./pod-references.ts";

const workload = (spec: object): object => ({ spec: { template: { spec } } });

const container = (suffix: string): object => ({
  env: [
    { name: "plain", value: "x" },
    { name: "field", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "a", valueFrom: { secretKeyRef: { name: `env-${suffix}`, key: "k" } } },
    { name: "b", valueFrom: { configMapKeyRef: { name: `env-${suffix}`, key: "k" } } },
  ],
  envFrom: [
    { secretRef: { name: `from-${suffix}` } },
    { configMapRef: { name: `from-${suffix}` }, prefix: "X" },
  ],
});

test("podReferences finds env, envFrom and volumes, in containers and init containers", () => {
  const volumes = [
    { name: "a", secret: { secretName: "volume" } },
    { name: "b", configMap: { name: "volume" } },
    { name: "c", emptyDir: {} },
    {
      name: "d",
      projected: {
        sources: [
          { secret: { name: "projected" } },
          { configMap: { name: "projected" } },
          { serviceAccountToken: {} },
        ],
      },
    },
  ];
  const imagePullSecrets = [{ name: "registry" }];
  const references = podReferences(
    workload({
      containers: [container("main")],
      initContainers: [container("init")],
      volumes,
      imagePullSecrets,
    }),
  );
  const names = ["env-main", "from-main", "env-init", "from-init", "volume", "projected"];
  expect([...references].sort()).toEqual(
    names.flatMap((name) => [`Secret/${name}`, `ConfigMap/${name}`]).sort(),
  );
});

test.each([
  undefined,
  {},
  { spec: { workloadRef: { name: "web" } } },
  workload({}),
  workload({ containers: [{ env: [{ valueFrom: 1 }] }] }),
])("podReferences of %j finds nothing", (object) => expect(podReferences(object).size).toBe(0));
