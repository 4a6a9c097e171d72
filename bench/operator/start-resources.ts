import { z } from "zod";
import { OPERATOR_USER } from "../../test/e2e/support/world.ts";
import { waitUntil } from "../../test/support/clock/wait-until.ts";
import { seconds, type Figures } from "./figures.ts";
import { VALUE_KEY } from "./secret-watch.ts";
import { firstValue, Stage, workOf, type Work } from "./stage.ts";

const EMAIL = "ops@example.com";
const CONNECTION = "vault";
const WRITES = ["create", "update", "patch", "delete"];

/** Requests of the operator in a phase. */
interface Cost {
  readonly ms: number;
  readonly work: Work | undefined;
  readonly targetWrites: number;
  readonly statusWrites: number;
  readonly secretReads: number;
  readonly vault: Readonly<Record<string, number>>;
}

/** Measures cold starts and warm restarts, and the creation of as many Secrets by a plain client before. */
export async function measureResources(counts: readonly number[]): Promise<Figures> {
  await using stage = await Stage.start([EMAIL]);
  const client = await stage.client(EMAIL);
  const figures: [string, string][] = [];
  const results: unknown[] = [];
  for (const count of counts) {
    const names = Array.from({ length: count }, (_, index) => `s${count}-${index}`);
    await stage.fill(client, names);
    const raw = await createRaw(stage, count);
    const namespace = await stage.plane.createNamespace("resources");
    await stage.connections(namespace, new Map([[CONNECTION, { email: EMAIL }]]));
    await stage.secrets(namespace, CONNECTION, names);
    stage.progress.note(`created ${count} resources`);
    const cold = await phase(stage, namespace, count);
    await expectTargets(stage, namespace, names);
    stage.progress.note(`cold start of ${count}: ${seconds(cold.ms)}`);
    const warm = await phase(stage, namespace, count);
    const writes = cold.targetWrites + cold.statusWrites;
    const rate = (writes * 1_000) / cold.ms;
    const rawRate = (count * 1_000) / raw;
    figures.push(
      [`${count} Secrets created by a plain client, 16 in flight`, `${seconds(raw)}, ${rawRate.toFixed(0)}/s`],
      [`cold start of ${count}, from the start of the process until all are Ready`, seconds(cold.ms)],
      [
        "  writes per resource: target, status",
        `${(cold.targetWrites / count).toFixed(3)}, ${(cold.statusWrites / count).toFixed(3)}`,
      ],
      ["  writes per second, share of the plain client", `${rate.toFixed(0)}/s, ${(rate / rawRate).toFixed(2)}`],
      [
        "  mean duration of a reconcile, of a request for a value",
        `${durationOf(cold.work?.meanReconcileMs)}, ${durationOf(cold.work?.meanExposeMs)}`,
      ],
      ["  reads of target Secrets", String(cold.secretReads)],
      ...requestsOf(cold),
      [`warm restart of ${count}, until all are reconciled`, seconds(warm.ms)],
      ["  writes: target, status", `${warm.targetWrites}, ${warm.statusWrites}`],
      ["  reads of target Secrets", String(warm.secretReads)],
      ...requestsOf(warm),
    );
    results.push({ count, rawMs: raw, cold, warm });
  }
  return { figures, results };
}

const durationOf = (ms = Number.NaN): string => `${ms.toFixed(0)} ms`;

const requestsOf = ({ vault }: Cost): [string, string][] =>
  Object.entries(vault).map(([operation, count]) => [`  vault requests: ${operation}`, String(count)]);

/** Returns the time in ms to create as many Secrets of the same size. */
async function createRaw(stage: Stage, count: number): Promise<number> {
  const namespace = await stage.plane.createNamespace("raw");
  const secrets = Array.from({ length: count }, (_, index) => ({
    kind: "Secret",
    apiVersion: "v1",
    metadata: { name: `raw-${index}` },
    stringData: { value: `raw ${index}` },
  }));
  const from = performance.now();
  await stage.kube.create(namespace, secrets);
  return performance.now() - from;
}

const targetList = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), data: z.record(z.string(), z.string()).default({}) })),
});

/** @throws Error when a Secret lacks the value that `fill` stored */
async function expectTargets(stage: Stage, namespace: string, names: readonly string[]): Promise<void> {
  const { items } = targetList.parse(await stage.kube.list("Secret", namespace));
  const values = new Map(items.map(({ metadata, data }) => [metadata.name, data[VALUE_KEY]]));
  const wrong = names.filter((name) => values.get(name) !== Buffer.from(firstValue(name)).toString("base64"));
  if (wrong.length > 0) throw new Error(`${wrong.length} Secrets lack the value of the vault`);
}

/** Runs an operator until all resources are Ready and no more are queued, and counts its requests. */
async function phase(stage: Stage, namespace: string, total: number): Promise<Cost> {
  const since = await stage.plane.auditMark();
  const before = await stage.vaultRequests();
  const from = performance.now();
  await using operator = await stage.operator([namespace]);
  let work: Work | undefined;
  const isDone = async (): Promise<boolean> => {
    work = await workOf(operator, total);
    return work.isQuiet && (await stage.readyCount("VaultSecret", namespace)) === total;
  };
  await waitUntil("the operator is done", isDone, 280_000, 250);
  const ms = performance.now() - from;
  const after = await stage.vaultRequests();
  await operator.stop();
  const events = (await stage.plane.auditEvents({ since })).filter(
    ({ user, objectRef }) => user.username === OPERATOR_USER && objectRef?.namespace === namespace,
  );
  const countOf = (resource: string, verbs: readonly string[]): number =>
    events.filter(({ verb, objectRef }) => {
      const isLogin = resource === "secrets" && objectRef?.name === `${CONNECTION}-login`;
      return objectRef?.resource === resource && verbs.includes(verb) && !isLogin;
    }).length;
  return {
    ms,
    work,
    targetWrites: countOf("secrets", WRITES),
    statusWrites: countOf("vaultsecrets", WRITES),
    secretReads: countOf("secrets", ["get"]),
    vault: Object.fromEntries(
      [...after].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const).filter(([, count]) => count > 0),
    ),
  };
}
