import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { sandboxImage } from "../lab/node/supervisor/node-files.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { podsOf } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const workloads = 20;
const replicas = 5;
/** The limit in docs/resources.md#restarts. */
const simultaneous = 10;

const Deployments = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), generation: z.int() }),
      spec: z.object({ template: z.object({ metadata: z.record(z.string(), z.unknown()) }) }),
      status: z.object({
        observedGeneration: z.int().default(0),
        replicas: z.int().default(0),
        updatedReplicas: z.int().default(0),
        availableReplicas: z.int().default(0),
      }),
    }),
  ),
});
type Deployment = z.output<typeof Deployments>["items"][number];

const deployment = (name: string): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, annotations: { "vaultsync.dev/restart": "auto" } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, group: "all" } },
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "app",
            image: sandboxImage,
            imagePullPolicy: "Never",
            volumeMounts: [{ name: "secret", mountPath: "/secret" }],
          },
        ],
        volumes: [{ name: "secret", secret: { secretName: "db" } }],
      },
    },
  },
});

/**
 * Reports whether a restart has ended. Its result is an annotation, and thereby a generation that
 * the status may not have yet.
 */
const isRolledOut = ({ status }: Deployment, before: Deployment | undefined): boolean =>
  status.observedGeneration > (before?.metadata.generation ?? 0) &&
  [status.replicas, status.updatedReplicas, status.availableReplicas].every(
    (count) => count === replicas,
  );

async function list(namespace: NodeNamespace): Promise<Deployment[]> {
  const text = await namespace.kubectl("get", "deployments", "--output=json");
  return Deployments.parse(JSON.parse(text)).items;
}

const pods = async ({ cluster, name }: NodeNamespace): Promise<string[]> =>
  (await podsOf(cluster, name, "group=all")).map(({ metadata }) => metadata.uid);

/** Waits until all workloads were restarted, and returns how many rolled out at most. */
async function mostRolling(namespace: NodeNamespace, before: readonly Deployment[]) {
  const templateOf = ({ spec }: Deployment): string => JSON.stringify(spec.template.metadata);
  const former = new Map(before.map((one) => [one.metadata.name, one]));
  const formerOf = ({ metadata }: Deployment): Deployment | undefined => former.get(metadata.name);
  const ended = new Set<string>();
  let most = 0;
  while (ended.size < former.size) {
    const current = await list(namespace);
    const restarted = current.filter((one) => {
      const earlier = formerOf(one);
      return earlier === undefined || templateOf(earlier) !== templateOf(one);
    });
    for (const one of restarted) if (isRolledOut(one, formerOf(one))) ended.add(one.metadata.name);
    most = Math.max(most, restarted.length - ended.size);
    await sleep(300);
  }
  return most;
}

test("100 pods restart once, at most ten workloads at a time", { timeout: 900_000 }, async () => {
  const namespace = await NodeNamespace.create("restarts");
  await namespace.protect("restarts-db");
  await namespace.apply(vaultSecret("db", { password: "restarts-db" }));
  const names = Array.from({ length: workloads }, (_, index) => `app-${index}`);
  await namespace.apply(...names.map(deployment));
  for (const name of names)
    await namespace.kubectl("rollout", "status", `deployment/${name}`, "--timeout=400s");
  const before = await list(namespace);
  const former = await pods(namespace);
  expect(former).toHaveLength(workloads * replicas);

  await namespace.protect("restarts-db");
  const most = await mostRolling(namespace, before);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(simultaneous);
  const current = await pods(namespace);
  expect(current).toHaveLength(workloads * replicas);
  expect(current.filter((uid) => former.includes(uid))).toEqual([]);
  const sets = await namespace.kubectl("get", "replicasets", "--output=name");
  expect(sets.trim().split("\n")).toHaveLength(2 * workloads);
  await namespace.kubectl("delete", "deployments", "--all");
});
