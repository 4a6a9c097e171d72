import { lineLogger } from "../../lab/assertions/recording-logger.ts";
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "../../../src/lib/logger.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import {
  API_GROUP,
  API_VERSION,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { operatorConfig } from "../../../src/operator/config.ts";
import { runEngine } from "../../../src/operator/operator.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  type ObjectRef,
  type ResourceDescriptor,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { promiseJobs, VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ApiClient } from "../../lab/simulated/api-server/api-client.ts";
import { ClusterControllers } from "../../lab/simulated/api-server/cluster-controllers.ts";
import { InMemoryApiServer } from "../../lab/simulated/api-server/in-memory-api-server.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import { InMemoryVault } from "../../lab/simulated/vault/in-memory-vault.ts";
import type { EffectTap } from "./effect-tap.ts";
import { MortalClock } from "./mortal-clock.ts";
import { apiNetwork, type Process, TappedTransport } from "./networks.ts";

/** Part of every value of the vault. */
export const CANARY = "canary-7f3a9c";
export const PASSWORD = "password-d81e02";
export const ACCOUNT = "ops@example.com";
export const TEAM = "team";
export const SYSTEM = "vaultsync-system";
export const VAULT_URL = "https://vault.example.com";

/** Time in milliseconds after which Kubernetes starts a process again that ended. */
const RESTART_MS = 1_000;
/** The content of an object that a user took over. */
const TAKEN_OVER = { theirs: "dGhlaXJz", password: "dGhlaXJz", username: "dGhlaXJz" };
const kinds = {
  VaultConnection: vaultConnectionKind,
  VaultSecret: vaultSecretKind,
  VaultFile: vaultFileKind,
  VaultPush: vaultPushKind,
};

interface Running {
  readonly user: string;
  readonly clock: MortalClock;
  readonly stop: AbortController;
}

/** A cluster and a vault in memory with operator processes that can crash at every request. */
export class World {
  readonly clock = new VirtualClock(undefined, promiseJobs);
  readonly server = new InMemoryApiServer({ clock: this.clock, random: seededRandom(1) });
  readonly vault = new InMemoryVault(this.clock);
  readonly tap: EffectTap;
  readonly violations: string[] = [];
  /** The only authority that the vault's certificate has, if clients must trust one. */
  authority: string | undefined;
  /** Called with the token of each request to the vault. */
  onToken: (token: string) => void = () => undefined;
  readonly #controllers = new ClusterControllers(this.server);
  readonly #leaderElect: boolean;
  readonly #versions = new Map<string, number>();
  readonly #processes = new Set<Running>();
  #taken: { readonly resource: ResourceDescriptor; readonly name: string } | undefined;
  #started = 0;

  constructor(tap: EffectTap, leaderElect: boolean) {
    this.tap = tap;
    this.#leaderElect = leaderElect;
    this.server.onCommit(() => this.#controllers.wake());
    for (const namespace of [SYSTEM, TEAM]) this.server.createNamespace(namespace);
    this.vault.setPassword(ACCOUNT, PASSWORD);
  }

  /** Writes new versions of secrets. The bytes name the secret and the version. */
  write(...names: readonly string[]): void {
    for (const name of names) this.writeSecret(name);
  }

  writeSecret(name: string, minutes?: number, email = ACCOUNT): void {
    const key_value = this.#nextValue(
      `${email}/${name}`,
      email === ACCOUNT ? name : `${name} of ${email}`,
    );
    this.vault.act(email, "protect", {
      key_name: name,
      key_value,
      ...(minutes !== undefined && { delete_time: minutes }),
    });
  }

  /** Creates a secret that was deleted: its versions start again. */
  writeAgain(name: string): void {
    this.#versions.delete(`${ACCOUNT}/${name}`);
    this.vault.act(ACCOUNT, "protect", {
      key_name: name,
      key_value: `${this.#nextValue(`${ACCOUNT}/${name}`, name)}/again`,
    });
  }

  upload(name: string): void {
    this.vault.upload(ACCOUNT, name, Buffer.from(this.#nextValue(`file/${name}`, name)));
  }

  /** Creates an object of a custom kind in the team's namespace, or changes its spec. */
  put(kind: keyof typeof kinds, name: string, spec: object, annotations = {}): void {
    const resource = kinds[kind];
    const before = this.server.find(resource, { namespace: TEAM, name });
    const metadata = { ...(before?.metadata ?? { namespace: TEAM, name }), annotations };
    const object = { ...before, apiVersion: `${API_GROUP}/${API_VERSION}`, kind, metadata, spec };
    if (before) this.server.replace(resource, object);
    else this.server.create(resource, object);
  }

  /** Creates or replaces a credentials Secret. */
  putCredentials(name: string, texts: Readonly<Record<string, string>>): void {
    const entries = Object.entries(texts).map(([key, text]) => [
      key,
      Buffer.from(text).toString("base64"),
    ]);
    this.edit(SECRETS, name, (before) => ({
      ...before,
      type: CREDENTIALS_TYPE,
      data: Object.fromEntries(entries),
    }));
  }

  /** Changes an object of the team's namespace as a user; creates it if it does not exist. */
  edit(resource: ResourceDescriptor, name: string, change: (object: KubeObject) => object): void {
    const ref = { namespace: TEAM, name };
    const before = this.server.find(resource, ref);
    const object = change(
      before ?? { apiVersion: "v1", kind: resource.kind, metadata: ref },
    ) as KubeObject;
    if (before) this.server.replace(resource, object);
    else this.server.create(resource, object);
  }

  remove(
    resource: ResourceDescriptor,
    name: string,
    propagationPolicy: "Background" | "Orphan" = "Background",
  ): void {
    this.server.delete(resource, { namespace: TEAM, name }, { propagationPolicy });
    if (propagationPolicy === "Orphan") this.#controllers.run();
  }

  /** Starts another operator process. */
  start(): void {
    this.#started += 1;
    const user = `operator-${this.#started}`;
    const process: Running = {
      user,
      clock: new MortalClock(this.clock),
      stop: new AbortController(),
    };
    this.#processes.add(process);
    const ended = (): void => {
      if (process.clock.isDead) return;
      this.#processes.delete(process);
      if (!process.stop.signal.aborted) this.#restart();
    };
    this.#run(process).then(ended, ended);
  }

  /** Ends all processes as SIGTERM does. */
  stop(): void {
    for (const { stop } of this.#processes) stop.abort(new Error("SIGTERM"));
  }

  /** Kills all processes: nothing of this world runs on. */
  end(): void {
    for (const process of this.#processes) this.#kill(process);
  }

  #kill(process: Running): void {
    process.clock.crash();
    this.#processes.delete(process);
    for (const watch of this.server.watches()) if (watch.client === process.user) watch.drop();
  }

  #crash(process: Running): Promise<never> {
    this.#kill(process);
    if (!process.stop.signal.aborted) this.#restart();
    return new Promise(() => undefined);
  }

  #restart(): void {
    this.clock.timer(RESTART_MS, () => this.start());
  }

  #run(running: Running): Promise<void> {
    const { user, clock, stop } = running;
    const { tap, vault } = this;
    const process: Process = {
      clock,
      tap,
      vault,
      crash: () => this.#crash(running),
      isTarget: (resource, ref) => this.#isTarget(resource, ref),
      takeOver: (resource, name) => this.#takeOver(resource, name),
      onToken: (token) => this.onToken(token),
      trusts: (ca) => ca === this.authority,
    };
    const api = new ApiClient(this.server, { user, network: apiNetwork(process) });
    return runEngine(
      {
        config: operatorConfig({ leaderElect: this.#leaderElect }),
        api,
        leaseApi: api,
        openTransport: (_url, ca) => new TappedTransport(process, ca),
        namespace: SYSTEM,
        identity: user,
        host: user,
        clock,
        random: seededRandom(this.#started),
        logger: this.#logger(),
        metrics: new MetricsRegistry(),
        onReady: () => undefined,
      },
      stop.signal,
    );
  }

  #isTarget(resource: ResourceDescriptor, ref: Partial<ObjectRef>): boolean {
    const isContent = resource.plural === SECRETS.plural || resource.plural === CONFIG_MAPS.plural;
    if (!isContent || ref.namespace !== TEAM) return false;
    return (
      this.server.find(resource, { ...ref, name: ref.name ?? "" })?.["type"] !== CREDENTIALS_TYPE
    );
  }

  #takeOver(resource: ResourceDescriptor, name: string): void {
    if (this.server.find(resource, { namespace: TEAM, name })?.["immutable"] === true) return;
    this.edit(resource, name, ({ kind, metadata, type }) => ({
      apiVersion: "v1",
      kind,
      type,
      metadata: { namespace: TEAM, name, resourceVersion: metadata.resourceVersion },
      data: TAKEN_OVER,
    }));
    this.#taken = { resource, name };
  }

  /** The object that a user took over, if any, and whether it is as they made it. */
  get taken(): { readonly name: string; readonly isKept: boolean } | undefined {
    if (!this.#taken) return undefined;
    const { resource, name } = this.#taken;
    const object = this.server.find(resource, { namespace: TEAM, name });
    return {
      name,
      isKept:
        isDeepStrictEqual(object?.["data"], TAKEN_OVER) && object?.metadata.labels === undefined,
    };
  }

  #nextValue(id: string, name: string): string {
    const version = (this.#versions.get(id) ?? 0) + 1;
    this.#versions.set(id, version);
    return `${CANARY}/${name}/${version}`;
  }

  #logger(): Logger {
    return lineLogger((line) => {
      if (containsSecret(line)) this.violations.push(`a log line contains a secret: ${line}`);
    });
  }
}

const secrets = [CANARY, PASSWORD, "access-token-", "refresh-token-"];
/** Without the last characters, because they depend on what follows. */
const encoded = secrets.map((secret) => Buffer.from(secret).toString("base64").slice(0, 16));

/** Reports whether a text contains a value, a password or a token, plain or in base64. */
export function containsSecret(text: string): boolean {
  return [...secrets, ...encoded].some((secret) => text.includes(secret));
}
