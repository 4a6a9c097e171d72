import { defined } from "../../../src/operator/lib/defined.ts";
import type { Draw } from "../random-features.ts";
import { accountOf, CLUSTER_ACCOUNT, CREATOR, NAMESPACES, urlOf, VAULTS } from "../world.ts";
import { CA_BUNDLE } from "../workloads.ts";
import type { EntryRef } from "./entry-journal.ts";
import type { PushCommand } from "./push-commands.ts";

export const SECRETS = ["source", "spare"] as const;
export const KEYS = ["one", "two"] as const;
export const PUSHES = ["push", "rival"] as const;
export const CONNECTIONS = ["main", "other"] as const;
export const NAMES = ["p1", "p2"] as const;
const FILES = ["p1.txt", "p2.txt"] as const;

/** Features that only some episodes have: the checks accept more in their presence. */
export const FEATURES = [
  "apiFaults",
  "watches",
  "processes",
  "vaultFaults",
  "others",
  "shares",
  "oneAccount",
  "rights",
  "shards",
  "broken",
  "edits",
  "deadlines",
] as const;
export type Feature = (typeof FEATURES)[number];

/** Makes the random connections, VaultPushes and entries of an episode. */
export class RandomPushSpecs {
  readonly #draw: Draw;
  readonly #features: ReadonlySet<Feature>;

  constructor(draw: Draw, features: ReadonlySet<Feature>) {
    this.#draw = draw;
    this.#features = features;
  }

  account(namespace: string): string {
    return this.#features.has("oneAccount") ? CLUSTER_ACCOUNT : accountOf(namespace);
  }

  connect(namespace: string, name: string, changes: object = {}): PushCommand {
    const url = urlOf(this.#features.has("edits") ? this.#draw.pick(VAULTS) : "a");
    const isUnreachable = this.#features.has("edits") && this.#draw.below(0.1);
    const trustedOwners =
      this.#features.has("shares") && this.#draw.below(0.4) ? this.#trusted(namespace) : undefined;
    const bundle = {
      kind: this.#draw.pick(["ConfigMap", "Secret"]),
      name: CA_BUNDLE,
      key: "ca.crt",
    };
    const spec = {
      url: isUnreachable ? url.replace("https:", "http:") : url,
      email: this.account(namespace),
      auth: { passwordSecretRef: { name: "login" } },
      refreshInterval: this.#draw.pick(["5s", "10s", "60s"]),
      follow: this.#draw.pick(["Auto", "Interval"]),
      ...defined({ trustedOwners }),
      ...(this.#features.has("broken") && this.#draw.below(0.6) && { caBundleRef: bundle }),
      ...changes,
    };
    return { type: "put", kind: "VaultConnection", namespace, name, spec };
  }

  /** The creators of shared secrets that a connection trusts. */
  #trusted(namespace: string): readonly string[] {
    const others = NAMESPACES.map((one) => this.account(one)).filter(
      (one) => one !== this.account(namespace),
    );
    return this.#draw.pick([
      [CREATOR],
      [CREATOR, ...others],
      others.length > 0 ? others : [CREATOR],
    ]);
  }

  put(namespace: string, name: string, changes: object = {}): PushCommand {
    const chosen = this.#draw.some([...NAMES, ...FILES]);
    const data = chosen.map((entry) => ({
      secretKey: this.#draw.pick(KEYS),
      ...this.#target(namespace, entry),
    }));
    const spec = {
      connectionRef: {
        ...(this.#draw.below(0.2) && { kind: "VaultConnection" }),
        name: this.#draw.below(0.8) ? "main" : "other",
      },
      ...(this.#draw.below(0.06) && { suspend: true }),
      ...(this.#draw.below(0.7) && { refreshInterval: this.#draw.pick(["5s", "10s", "1m"]) }),
      secret: {
        name: this.#draw.pick([
          "source",
          "source",
          "source",
          "spare",
          "spare",
          this.#draw.below(0.1) ? "login" : "source",
        ]),
      },
      data,
      ...(this.#draw.below(0.8) && {
        deletionPolicy: this.#draw.pick(["Delete", "Delete", "Retain"]),
      }),
      ...changes,
    };
    return { type: "put-push", namespace, name, spec };
  }

  #target(namespace: string, entry: string): object {
    if (entry.endsWith(".txt")) return { file: { filename: entry } };
    const owner = this.#draw.pick([CREATOR, this.account(namespace)]);
    const isOwned = this.#draw.below(this.#features.has("shares") ? 0.3 : 0.05);
    return {
      remoteRef: { key: entry, ...(isOwned && { owner }) },
      ...(this.#draw.below(0.2) && {
        metadata: { environment_type: this.#draw.pick(["prod", "test"]), expiration_time: 36_500 },
      }),
      ...(this.#features.has("deadlines") &&
        this.#draw.below(0.3) && { deleteTime: this.#draw.pick(["5m", "3h", "30d"]) }),
    };
  }

  entry(): EntryRef {
    const place = { vault: this.#features.has("edits") ? this.#draw.pick(VAULTS) : "a" };
    const owner =
      this.#features.has("shares") && this.#draw.below(0.3)
        ? CREATOR
        : this.account(this.#draw.pick(NAMESPACES));
    return this.#draw.below(0.5)
      ? { ...place, owner, kind: "secret", name: this.#draw.pick(NAMES) }
      : { ...place, owner, kind: "file", name: this.#draw.pick(FILES) };
  }
}
