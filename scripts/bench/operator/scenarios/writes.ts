import { z } from "zod";
import type { ApiAccess } from "../../../../test/lab/control-plane/api-request.ts";
import { OPERATOR_USER, SERVICE_ACCOUNT } from "../../../../test/lab/real/world.ts";
import { KubeWriter, type KubeObject } from "../kube-writer.ts";
import { groupCpuSeconds } from "../process-usage.ts";
import { ConditionWatch } from "../condition-watch.ts";
import { ratio, record, type Scenario, type Scene } from "../scene.ts";
import { SecretWatch } from "../secret-watch.ts";
import { quantile } from "../../statistics.ts";
import type { Samples } from "../samples.ts";
import type { Stage } from "../stage.ts";

const RAW_IN_FLIGHT = [1, 16, 64];

/**
 * Keeps so many calls in flight until all are done, and returns how long that took and each call,
 * in milliseconds.
 */
async function timed(
  inFlight: number,
  count: number,
  call: (index: number) => Promise<unknown>,
): Promise<{ readonly ms: number; readonly latencies: readonly number[] }> {
  const latencies: number[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const from = performance.now();
      await call(next++);
      latencies.push(performance.now() - from);
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: inFlight }, work));
  return { ms: performance.now() - from, latencies: latencies.toSorted((a, b) => a - b) };
}

/**
 * B0: creates Secrets with a plain client, with different numbers of requests in flight. Returns
 * the highest rate per second: no operator can write faster here.
 */
export async function measureRawWrites(
  stage: Stage,
  samples: Samples,
  resources: number,
): Promise<number> {
  const place = { scenario: "b0", subject: "plain client", resources, connections: 0 };
  const { processGroup } = stage.plane;
  const rates: number[] = [];
  for (const inFlight of RAW_IN_FLIGHT) {
    const namespace = await stage.plane.createNamespace("raw");
    using writer = new KubeWriter(stage.plane.access, inFlight);
    const cpu = await groupCpuSeconds(processGroup);
    const { ms, latencies } = await timed(inFlight, resources, (index) =>
      writer.create(namespace, [secretOf(index)]),
    );
    const rate = (resources * 1_000) / ms;
    rates.push(rate);
    samples.add(place, {
      [`Secrets/s, ${inFlight} in flight`]: rate,
      [`p99 of a write, ${inFlight} in flight, ms`]: quantile(latencies, 0.99),
      [`CPU s of the control plane per 1,000 writes, ${inFlight} in flight`]:
        (((await groupCpuSeconds(processGroup)) - cpu) * 1_000) / resources,
    });
  }
  return Math.max(...rates);
}

const secretOf = (index: number): KubeObject => ({
  kind: "Secret",
  apiVersion: "v1",
  metadata: { name: `raw-${index}` },
  stringData: { value: `raw ${index}\n`.padEnd(200, "x") },
});

const IN_FLIGHT = 64;

const list = z.object({
  apiVersion: z.string(),
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string(), uid: z.string() }) })),
});
type Item = z.infer<typeof list>["items"][number];

/**
 * B0, the second denominator: the writes of a cold start, each target and each status once, by a
 * plain client that knows them already, with the same watches of the benchmark. It reads no vault,
 * decides nothing and watches nothing. It is the administrator and then, for this operator, the
 * operator's ServiceAccount, to which policies and RBAC rules apply.
 */
export const sameWrites: Scenario = async (scene, running) => {
  const { stage, subject } = scene;
  const plain = await writeAgain(scene, stage.plane.access);
  record(scene, "b0", {
    "the same writes by a plain client, writes/s": plain.rate,
    "share of B0": ratio(plain.rate, scene.rawRate),
    "CPU s of the control plane per 1,000 of them": plain.cpuSeconds,
  });
  const rate = scene.coldStart.rate ?? 0;
  record(scene, "b1", { "share of the same writes": ratio(rate, plain.rate) });
  if (subject.user !== OPERATOR_USER) return running;
  const token = await stage.plane.serviceAccountToken(SERVICE_ACCOUNT);
  const limited = await writeAgain(scene, { ...stage.plane.access, token });
  record(scene, "b0", {
    "with the operator's token, writes/s": limited.rate,
    "with it, CPU s of the control plane per 1,000": limited.cpuSeconds,
  });
  record(scene, "b1", { "share of the same writes with its token": ratio(rate, limited.rate) });
  return running;
};

/**
 * Makes the writes in a new namespace. Returns their number per second, and the CPU seconds of the
 * control plane for 1,000 of them.
 */
async function writeAgain(
  scene: Scene,
  access: ApiAccess,
): Promise<{ readonly rate: number; readonly cpuSeconds: number }> {
  const { stage, subject, content } = scene;
  const resources = await objectsOf(scene, subject.kind, scene.namespace);
  const targets = await objectsOf(scene, "Secret", scene.namespace);
  const namespace = await stage.plane.createNamespace("same");
  const plain = resources.map(({ kind, apiVersion, metadata: { name }, spec }) => ({
    kind,
    apiVersion,
    metadata: { name },
    spec,
  }));
  await stage.kube.create(namespace, plain);
  const created = await objectsOf(scene, subject.kind, namespace);
  await using _targets = await SecretWatch.start(stage.plane.access, namespace);
  await using _ready = await ConditionWatch.start(stage.plane.access, subject.kind, namespace);
  using writer = new KubeWriter(access, IN_FLIGHT);
  const statuses = new Map(resources.map(({ metadata, status }) => [metadata.name, status]));
  const byName = new Map(targets.map((target) => [target.metadata.name, target]));
  const cpu = await groupCpuSeconds(stage.plane.processGroup);
  const { ms } = await timed(IN_FLIGHT, created.length, async (index) => {
    const resource = created[index];
    const target = byName.get(resource?.metadata.name ?? "");
    if (resource === undefined || target === undefined) throw new Error("a resource has no target");
    await writer.create(namespace, [copyFor(resource, target)]);
    await writer.replaceStatus(namespace, {
      ...resource,
      status: statuses.get(resource.metadata.name),
    });
  });
  const writes = 2 * content.names.length;
  const cpuSeconds = (await groupCpuSeconds(stage.plane.processGroup)) - cpu;
  return { rate: (writes * 1_000) / ms, cpuSeconds: (cpuSeconds * 1_000) / writes };
}

async function objectsOf(
  { stage }: Scene,
  kind: string,
  namespace: string,
): Promise<(Item & KubeObject)[]> {
  const { apiVersion, items } = list.parse(await stage.kube.list(kind, namespace));
  return items.map((item) => ({ ...item, kind, apiVersion }));
}

/** Returns the target for another resource of the same name. */
function copyFor(
  resource: Item & KubeObject,
  { metadata, ...target }: Item & KubeObject,
): KubeObject {
  const { name, labels, annotations } = metadata;
  const { kind, apiVersion } = resource;
  const owner = { kind, apiVersion, name: resource.metadata.name, uid: resource.metadata.uid };
  const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }];
  return { ...target, metadata: { name, labels, annotations, ownerReferences } } as KubeObject;
}
