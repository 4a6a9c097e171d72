import { onTestFinished } from "vitest";
import {
  type Followed,
  FollowedTargets,
  keyOfTarget,
  type WrittenTargets,
} from "../../../src/operator/cli/local/followed-targets.ts";
import type { LocalPlan } from "../../../src/operator/cli/local/local-plan.ts";
import type { LocalTarget } from "../../../src/operator/cli/local/local-targets.ts";
import type { Manifest } from "../../../src/operator/cli/manifests/manifest.ts";
import { planOf } from "../../../src/operator/cli/plan/planned-resource.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { logIn, VaultClient } from "../../../src/protocol/client/vault-client.ts";
import { unlimitedScope, formatScope } from "../../../src/protocol/scope.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ACCOUNT, PASSWORD, SimulatedVault } from "../../lab/simulated/simulated-vault.ts";
import { serveVault } from "../../lab/simulated/vault/serve-vault.ts";

const signal = new AbortController().signal;

const manifest = (kind: string, name: string, spec: unknown): Manifest => ({
  file: "all.yaml",
  apiVersion: "vaultsync.dev/v1alpha1",
  kind,
  name,
  namespace: "shop",
  metadata: {},
  fields: ["spec"],
  spec,
  lineOf: () => 1,
});

/** Returns what was written, as the next attempt finds it. */
export const writtenOf = (targets: readonly LocalTarget[]): WrittenTargets =>
  new Map(
    targets.map(({ resource, content, origin }) => [keyOfTarget(resource), { content, origin }]),
  );

/** A vault with a clock, and the targets of VaultSecrets that follow it. */
export class FollowedScene {
  readonly clock = new VirtualClock();
  readonly vault = new SimulatedVault(this.clock);
  written: WrittenTargets = new Map();
  /** The targets of the last comparison. */
  targets: readonly LocalTarget[] = [];
  #client: VaultClient | undefined;
  #targets: FollowedTargets | undefined;

  /** Follows these VaultSecrets, whose specs lack their connection. */
  async follow(specs: Readonly<Record<string, object>>): Promise<void> {
    this.vault.setPassword(ACCOUNT, PASSWORD);
    const server = await serveVault(this.vault);
    onTestFinished(() => server[Symbol.asyncDispose]());
    const url = server.url.href.replace(/\/$/u, "");
    const scope = formatScope(unlimitedScope);
    const login = { email: ACCOUNT, password: new Redacted(PASSWORD), scope, hours: 24 };
    this.#client = new VaultClient(await logIn({ url }, login));
    const auth = { passwordSecretRef: { name: "login" } };
    const manifests = [
      manifest("VaultConnection", "vault", { url, email: ACCOUNT, auth }),
      ...Object.entries(specs).map(([name, spec]) =>
        manifest("VaultSecret", name, { connectionRef: { name: "vault" }, ...spec }),
      ),
    ];
    const plan = planOf(manifests, [], []);
    const resources = plan.resources.map((planned) => ({
      planned,
      connection: plan.connections[0]!,
    }));
    const local: LocalPlan = { resources, namespaces: new Map(), problems: [] };
    const key = new Redacted(new Uint8Array(32));
    this.#targets = new FollowedTargets(local, this.#client, key, this.clock);
  }

  store(key_name: string, key_value: string, more: object = {}): void {
    this.vault.act(ACCOUNT, "protect", { key_name, key_value, ...more });
  }

  delete(...names: string[]): void {
    this.vault.act(ACCOUNT, "delete", { key_name: names });
  }

  /** Compares the vault, and returns the keys of each target as texts, and the problems. */
  async next(): Promise<{ targets: Record<string, Record<string, string>>; problems: string[] }> {
    const followed: Followed = await this.#targets!.next(this.written, signal);
    this.targets = followed.targets;
    this.written = writtenOf(followed.targets);
    const texts = [...this.written].map(([key, { content }]) => [
      key.replace("Secret/", ""),
      Object.fromEntries(
        [...content].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
      ),
    ]);
    return {
      targets: Object.fromEntries(texts),
      problems: followed.problems.map(({ message }) => message),
    };
  }
}

/** Returns `data` of a spec: a key for each secret of the same name. */
export const keysOf = (...names: readonly string[]): object => ({
  data: names.map((key) => ({ secretKey: key, remoteRef: { key } })),
});
