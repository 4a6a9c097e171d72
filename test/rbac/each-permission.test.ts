import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import {
  type Manifest,
  Manifest as ManifestSchema,
  manifestsOf,
  permissionsOf,
  permissionOf,
} from "../lab/real/granted.ts";
import { withoutStreamedLists } from "../e2e/support/without-streamed-lists.ts";
import { installRollouts, workload, Workloads } from "../lab/real/workloads.ts";
import { type ApiProxy, startApiProxy } from "../faults/support/api-proxy.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { rulesWithout } from "../e2e/support/without-permission.ts";
import { World } from "../lab/real/world.ts";
import { condition, vaultFile, vaultPush, vaultSecret } from "../lab/real/resources.ts";
import { connect } from "../integration/kube/connect.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { startEventRecorder } from "../lab/kube/event-recorder.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";

interface LimitedOptions {
  readonly plane: ControlPlane;
  /** A proxy of the API server that does not stream lists. */
  readonly api: { readonly server: string; readonly ca: string };
  /** The Roles of the operator's namespace, and of the namespace that it serves. */
  readonly own: (namespace: string) => Promise<readonly Manifest[]>;
  readonly tenant: (namespace: string) => Promise<readonly Manifest[]>;
  /** The permission that the operator lacks; none by default. */
  readonly without?: string;
}

const WORKLOADS = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
const many = Array.from({ length: 6 }, (_, index) => `many-${index}`);

/**
 * A real operator with deploy/namespaced, without one permission, that is made to do everything it
 * can.
 */
class LimitedOperator implements AsyncDisposable {
  readonly world: World;
  readonly #operator: OperatorProcess;
  readonly #operatorNamespace: string;
  readonly #mark: number;
  #failure: unknown;

  private constructor(
    world: World,
    operator: OperatorProcess,
    operatorNamespace: string,
    mark: number,
  ) {
    this.world = world;
    this.#operator = operator;
    this.#operatorNamespace = operatorNamespace;
    this.#mark = mark;
  }

  static async create({
    plane,
    api,
    own,
    tenant,
    without = "",
  }: LimitedOptions): Promise<LimitedOperator> {
    const operatorNamespace = await plane.createNamespace("operator");
    const lacking = (manifests: readonly Manifest[]): Manifest[] =>
      manifests.map(({ rules, ...manifest }) => ({
        ...manifest,
        ...(rules && { rules: rulesWithout(rules, without) }),
      }));
    await plane.apply(lacking(await own(operatorNamespace)), operatorNamespace);
    const world = await World.create({
      plane,
      ...api,
      account: { serviceAccount: "vaultsync", namespace: operatorNamespace },
    });
    await plane.apply(lacking(await tenant(operatorNamespace)), world.namespace);
    const mark = await plane.auditMark();
    const args = ["--namespaces", world.namespace, "--shards", "2", "--restart-window", "1s"];
    return new LimitedOperator(
      world,
      OperatorProcess.launch(world.kubeconfig, args),
      operatorNamespace,
      mark,
    );
  }

  get log(): string {
    return this.#operator.log;
  }

  /**
   * Error that kept the operator from doing everything; `undefined` if it did, or was denied
   * something before.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** Returns the permissions that the API server denied to the operator so far. */
  async denied(): Promise<string[]> {
    const user = `system:serviceaccount:${this.#operatorNamespace}:vaultsync`;
    const events = await this.world.plane.auditEvents({ since: this.#mark });
    const denied = events.filter(
      ({ user: { username }, responseStatus }) => username === user && responseStatus?.code === 403,
    );
    return [...new Set(denied.map(permissionOf))];
  }

  /** Makes the operator do everything, until the API server denies something. */
  async untilDenied(): Promise<string[]> {
    const end = new AbortController();
    const finished = this.#drive()
      .catch((error: unknown) => (this.#failure = error))
      .then(() => end.abort());
    for (;;) {
      const denied = await this.denied();
      if (denied.length > 0 || end.signal.aborted) return denied;
      await Promise.race([sleep(1_000), finished]);
    }
  }

  async #drive(): Promise<void> {
    await this.#createAll();
    await this.#change();
    await this.#remove();
    await this.#repeatEvent();
    await this.#operator.stop();
  }

  async #createAll(): Promise<void> {
    const { world } = this;
    for (const name of ["db", "restarts", ...many])
      await world.protect(name, world.canaries.text(name));
    await world.upload("web.conf", Buffer.from(world.canaries.text("file")));
    const { spec, ...restarts } = z
      .looseObject({ spec: z.looseObject({}) })
      .parse(vaultSecret("restarts", { password: "restarts" }));
    await world.apply(
      ...WORKLOADS.map((kind) => workload(kind, "app")),
      {
        ...restarts,
        spec: { ...spec, rolloutRestart: WORKLOADS.map((kind) => ({ kind, name: "app" })) },
      },
      vaultSecret("db", { password: "db" }),
      vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap" }),
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "pushed" },
        stringData: { password: world.canaries.text("pushed") },
      },
      vaultPush("pushed", [{ secretKey: "password", remoteRef: { key: "pushed" } }], {
        deletionPolicy: "Delete",
      }),
      ...many.map((name) => vaultSecret(name, { password: name }, { whenMissing: "Delete" })),
    );
    for (const name of ["db", "restarts", ...many]) await world.ready("VaultSecret", name);
    await world.ready("VaultFile", "web");
    await world.ready("VaultPush", "pushed");
  }

  /** Repairs, new versions and restarts. */
  async #change(): Promise<void> {
    const { world } = this;
    const drift = JSON.stringify({ data: { extra: "ZHJpZnQ=" } });
    for (const target of ["secret/db", "configmap/web"]) {
      await world.plane.kubectl(["patch", target, "--type=merge", "-p", drift], {
        namespace: world.namespace,
      });
    }
    await world.until("Secret", "db", ({ data }) => !("extra" in data));
    await world.until("ConfigMap", "web", ({ data }) => !("extra" in data));
    const next = world.canaries.text("next");
    for (const name of ["db", "restarts"]) await world.protect(name, next);
    await world.upload("web.conf", Buffer.from(next));
    await world.has("db", "password", next);
    await world.until("ConfigMap", "web", ({ data }) => data["web.conf"] === next);
    const workloads = new Workloads(world.plane, world.namespace);
    for (const kind of WORKLOADS) {
      const isRestarted = async (): Promise<boolean> =>
        "vaultsync.dev/content" in
        (await workloads.get(kind, "app")).spec.template.metadata.annotations;
      await waitUntil(`${kind} restarts`, isRestarted);
    }
  }

  /** Renamed and removed targets, and a deleted VaultPush. */
  async #remove(): Promise<void> {
    const { world } = this;
    const { namespace, plane } = world;
    const renamed = { name: "renamed" };
    await world.apply(
      vaultSecret("db", { password: "db" }, renamed),
      vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap", ...renamed }),
    );
    await world.gone("Secret", "db");
    await world.gone("ConfigMap", "web");
    await plane.kubectl(["delete", "--timeout=20s", "vaultpush/pushed"], { namespace });
    for (const key_name of many) await world.caller.call("delete", { key_name });
    await world.until(
      "VaultConnection",
      "vault",
      (one) => condition(one, "RemovalsHeld") !== undefined,
    );
    await plane.kubectl(["annotate", "vaultconnection/vault", "vaultsync.dev/confirm-removals=6"], {
      namespace,
    });
    await world.until(
      "VaultConnection",
      "vault",
      (one) => condition(one, "RemovalsHeld") === undefined,
    );
  }

  /**
   * The count of a repeated event is written after a minute, so this client of the operator does it
   * by a virtual clock.
   */
  async #repeatEvent(): Promise<void> {
    const { namespace, kubeconfig } = this.world;
    await using api = await connect(kubeconfig);
    const clock = new VirtualClock(Date.now());
    const { recorder, stop, running } = startEventRecorder(api, clock);
    const { metadata } = await this.world.ready("VaultSecret", "db");
    const about = { resource: vaultSecretKind, namespace, name: "db", uid: metadata.uid };
    for (const _ of [1, 2]) {
      recorder.record({
        ...about,
        type: "Normal",
        reason: "Test",
        action: "Test",
        note: "repeated",
      });
      await sleep(1_000);
      await clock.advance(60_000);
    }
    await sleep(1_000);
    stop.abort();
    await running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator.stop("SIGKILL");
    await this.world[Symbol.asyncDispose]();
    await this.world.plane.request("DELETE", `/api/v1/namespaces/${this.#operatorNamespace}`);
  }
}

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

function operatorWithout(without?: string): Promise<LimitedOperator> {
  return LimitedOperator.create({
    plane,
    api: started.api,
    own: async (namespace) =>
      (await manifestsOf(plane, "deploy/namespaced", namespace)).filter(isRbac),
    tenant: (namespace) => manifestsOf(plane, "deploy/namespaced/tenant", namespace),
    ...(without !== undefined && { without }),
  });
}

test.concurrent("with all permissions nothing is denied", async () => {
  await using operator = await operatorWithout();
  expect(await operator.untilDenied()).toEqual([]);
  expect(operator.failure).toBe(undefined);
});

test.concurrent.each(permissions)("the operator needs %s", async (permission) => {
  await using operator = await operatorWithout(permission);
  const denied = await operator.untilDenied();
  expect(denied, operator.log).toEqual([denials[permission] ?? permission]);
});
