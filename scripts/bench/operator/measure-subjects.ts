import { setTimeout as sleep } from "node:timers/promises";
import { FaultProxy, type Fault } from "../../../test/lab/real/fault-proxy.ts";
import { Content, accountOf } from "./content.ts";
import { ConditionWatch } from "./condition-watch.ts";
import { Samples } from "./samples.ts";
import type { Scenario, Scene, Settings } from "./scene.ts";
import { changes } from "./scenarios/changes.ts";
import { failover } from "./scenarios/failover.ts";
import { outage } from "./scenarios/outage.ts";
import { measureRawWrites, sameWrites } from "./scenarios/writes.ts";
import { coldStart, warmRestart } from "./scenarios/starts.ts";
import { memory, steadyState } from "./scenarios/steady.ts";
import { windows } from "./scenarios/windows.ts";
import { SecretWatch } from "./secret-watch.ts";
import { Stage } from "./stage.ts";
import type { Subject } from "./subject.ts";

/** Those that measure a running subject, in the order in which they disturb it least. */
const scenarios: readonly (readonly [name: string, scenario: Scenario])[] = [
  ["b0", sameWrites],
  ["b3", steadyState],
  ["b4", changes],
  ["b2", warmRestart],
  ["b5", memory],
  ["b6", outage],
  ["b7", failover],
  ["b9", windows],
];

export interface Run {
  readonly subjects: readonly Subject[];
  readonly scenarios: ReadonlySet<string>;
  readonly repeats: number;
  /**
   * Starts the first subject once more before the repeats, without a record: the first start on a
   * new API server is slower.
   */
  readonly warmUp?: boolean;
  readonly settings: Settings;
  readonly samples: Samples;
  /** Called after each measurement: an interrupted run has a result. */
  readonly onProgress: () => Promise<void>;
}

/** Measures all subjects in turn within each repeat, with one control plane and one vault. */
export async function measureSubjects(
  run: Run,
  resources: number,
  connections: number,
): Promise<void> {
  const { settings, samples } = run;
  await using stage = await Stage.start(
    Array.from({ length: connections }, (_, index) => accountOf(index)),
    settings.vault,
  );
  await using proxy = await FaultProxy.start({ url: stage.vault.url });
  const delayed: Fault = async ({ relay }) => {
    await sleep(settings.latencyMs);
    await relay();
  };
  const restoreVault = (): void => proxy.inject(delayed);
  restoreVault();
  const content = await Content.fill(stage, resources, connections);
  stage.progress.note(`${resources} secrets of ${connections} accounts are in the vault`);
  for (const subject of run.subjects) await subject.prepare(stage);
  const common = { stage, content, proxy, restoreVault, settings };
  if (run.warmUp === true)
    await measureSubject(
      { ...run, scenarios: new Set() },
      { ...common, rawRate: undefined, samples: new Samples() },
      run.subjects[0],
    );
  for (let repeat = 1; repeat <= run.repeats; repeat += 1) {
    const isRaw = run.scenarios.has("b0");
    const rawRate = isRaw ? await measureRawWrites(stage, samples, resources) : undefined;
    // In turn: what comes later finds more objects and a warmer API server.
    const subjects = repeat % 2 === 1 ? run.subjects : run.subjects.toReversed();
    for (const subject of subjects) {
      stage.progress.note(
        `repeat ${repeat} of ${run.repeats}: ${subject.label}, ${resources} resources, ${connections} connections`,
      );
      await measureSubject(run, { ...common, rawRate, samples }, subject);
      await run.onProgress();
    }
  }
}

type Common = Omit<Scene, "coldStart" | "subject" | "namespace" | "targets" | "ready">;

async function measureSubject(
  run: Run,
  common: Common,
  subject: Subject | undefined,
): Promise<void> {
  if (subject === undefined) return;
  const { stage, content, proxy } = common;
  const namespace = await stage.plane.createNamespace("subject");
  await using targets = await SecretWatch.start(stage.plane.access, namespace);
  await using ready = await ConditionWatch.start(stage.plane.access, subject.kind, namespace);
  const scene = { ...common, coldStart: {}, subject, namespace, targets, ready };
  await subject.create(stage, { namespace, content, url: proxy.url });
  let running = await coldStart(scene);
  try {
    for (const [name, scenario] of scenarios) {
      if (run.scenarios.has(name)) running = await scenario(scene, running);
    }
  } finally {
    await running.stop("SIGTERM");
    await running[Symbol.asyncDispose]();
  }
}
