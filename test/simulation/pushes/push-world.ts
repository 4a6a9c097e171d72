import { readPushStatus } from "../../../src/operator/push/push-status.ts";
import { vaultConnectionKind, vaultPushKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { Leadership } from "../invariants/leadership.ts";
import { accountOf, NAMESPACES, urlOf, Violation, World } from "../world.ts";

export const VAULT = "a";
export const KEYS = ["one", "two"] as const;
const apiVersion = "vaultsync.dev/v1alpha1";
const MAX_VERSIONS = 400;

/** A key of a Secret and the entry of the vault that it is pushed to. */
export interface Pushed {
  readonly namespace: string;
  readonly key: string;
  readonly kind: "secret" | "file";
  readonly name: string;
}

/** All keys that are pushed: of each namespace one to a secret and one to a file. */
export const pushed: readonly Pushed[] = NAMESPACES.flatMap((namespace) => [
  { namespace, key: "one", kind: "secret", name: "p1" },
  { namespace, key: "two", kind: "file", name: "p2.txt" },
]);

const sourceRef = (namespace: string) => ({ namespace, name: "source" });
const idOf = ({ namespace, name }: Pushed): string => `${namespace}/${name}`;

/**
 * The simulated world with a VaultPush in each namespace, the numbers of changes, and the checks of
 * the versions in the vault.
 */
export class PushWorld {
  readonly world: World;
  /** Number of states of each entry that its Secret, or a user of the vault, has given it. */
  readonly #changes = new Map<string, number>();
  readonly #last = new Map<string, string>();
  readonly #leadership: Leadership;
  #values = 0;

  constructor(seed: number) {
    this.world = new World(seed);
    this.#leadership = new Leadership(this.world);
    this.world.server.onCommit((change) => this.#leadership.remember(change));
    this.world.onVaultWrite = (user, operation) => this.#checkWriter(user, operation);
    for (const namespace of NAMESPACES) this.#create(namespace);
  }

  #create(namespace: string): void {
    const { server } = this.world;
    const auth = { passwordSecretRef: { name: "login" } };
    const connection = {
      url: urlOf(VAULT),
      email: accountOf(namespace),
      auth,
      refreshInterval: "10s",
      follow: "Interval",
    };
    const metadata = { namespace, name: "main" };
    server.create(vaultConnectionKind, {
      apiVersion,
      kind: "VaultConnection",
      metadata,
      spec: connection,
    });
    this.change(namespace, "one");
    this.change(namespace, "two");
    const data = [
      { secretKey: "one", remoteRef: { key: "p1" } },
      { secretKey: "two", file: { filename: "p2.txt" } },
    ];
    const spec = {
      connectionRef: { name: "main" },
      secret: { name: "source" },
      refreshInterval: "10s",
      data,
    };
    // The second one never pushes: it is not older than the first.
    for (const name of ["push", "rival"])
      server.create(vaultPushKind, {
        apiVersion,
        kind: "VaultPush",
        metadata: { namespace, name },
        spec,
      });
  }

  /** Gives a key of the Secret another value, or the one before. */
  change(namespace: string, key: string, back = false): void {
    const entry = pushed.find((one) => one.namespace === namespace && one.key === key)!;
    this.#values += 1;
    const before = this.#last.get(idOf(entry)) ?? "none";
    const value = back ? before : `canary value ${this.#values}`;
    this.#last.set(idOf(entry), this.valueOf(entry) ?? value);
    this.#edit(namespace, (data) => ({ ...data, [key]: Buffer.from(value).toString("base64") }));
    this.#count(entry);
  }

  /** Removes a key of the Secret, or empties it: neither is pushed. */
  spoil(namespace: string, key: string, how: "remove" | "empty"): void {
    const others = (data: Record<string, string>) =>
      Object.entries(data).filter(([name]) => name !== key);
    this.#edit(namespace, (data) =>
      Object.fromEntries([...others(data), ...(how === "empty" ? [[key, ""]] : [])]),
    );
  }

  deleteSource(namespace: string): void {
    const { server } = this.world;
    if (server.find(SECRETS, sourceRef(namespace))) server.delete(SECRETS, sourceRef(namespace));
  }

  /** Changes or deletes an entry, as another writer does. */
  disturb(entry: Pushed, how: "write" | "delete"): void {
    const vault = this.world.vaults.vault(VAULT);
    const [account, { name }] = [accountOf(entry.namespace), entry];
    const exists = this.latest(entry) !== undefined;
    if (how === "delete" && !exists) return;
    this.#values += 1;
    const value = `canary theirs ${this.#values}`;
    if (entry.kind === "file") {
      if (how === "write") vault.upload(account, name, Buffer.from(value));
      else vault.act(account, "delete_file", { filename: name });
    } else if (how === "write") vault.act(account, "protect", { key_name: name, key_value: value });
    else vault.act(account, "delete", { key_name: name });
    this.#count(entry);
  }

  valueOf({ namespace, key }: Pushed): string | undefined {
    const data = this.world.server.find(SECRETS, sourceRef(namespace))?.["data"] as
      | Record<string, string>
      | undefined;
    return data?.[key] === undefined ? undefined : Buffer.from(data[key], "base64").toString();
  }

  latest(entry: Pushed): string | undefined {
    return this.#versions(entry).at(-1);
  }

  /** Throws a `Violation` if an entry has more versions of the operator than it had changes. */
  checkVersions(): void {
    for (const entry of pushed) {
      const ours = this.#versions(entry).filter((value) => !value.includes("theirs")).length;
      const most = this.#changes.get(idOf(entry)) ?? 0;
      if (ours > most)
        throw new Violation(
          "P1",
          `${idOf(entry)} has ${ours} pushed versions after ${most} changes`,
        );
    }
  }

  /** Returns what is not as expected; `undefined` if everything is. */
  difference(): string | undefined {
    for (const entry of pushed) {
      const value = this.valueOf(entry);
      const latest = this.latest(entry);
      if (value !== undefined && value !== "" && value !== latest)
        return `${idOf(entry)} is ${latest} in the vault, and ${value} in the Secret`;
    }
    for (const namespace of NAMESPACES) {
      const [push, rival] = ["push", "rival"].map((name) => this.#readyOf(namespace, name));
      const isWhole = pushed.every(
        (entry) => entry.namespace !== namespace || Boolean(this.valueOf(entry)),
      );
      const expected = isWhole ? ["Synced"] : ["SourceMissing", "SourceSuspicious"];
      if (!expected.includes(push ?? ""))
        return `VaultPush ${namespace}/push is ${push}, expected ${expected.join(" or ")}`;
      if (isWhole && rival !== "PushConflict") return `VaultPush ${namespace}/rival is ${rival}`;
    }
    return undefined;
  }

  #readyOf(namespace: string, name: string): string | undefined {
    const { conditions } = readPushStatus(
      this.world.server.get(vaultPushKind, { namespace, name })["status"],
    );
    return conditions?.find(({ type }) => type === "Ready")?.reason;
  }

  #versions({ namespace, kind, name }: Pushed): string[] {
    const vault = this.world.vaults.vault(VAULT);
    const found: string[] = [];
    for (let version = 1; version < MAX_VERSIONS; version += 1) {
      const bytes = vault.bytesOf(kind, accountOf(namespace), name, version);
      if (bytes === undefined) break;
      found.push(Buffer.from(bytes).toString());
    }
    return found;
  }

  #edit(namespace: string, change: (data: Record<string, string>) => object): void {
    const { server } = this.world;
    const before = server.find(SECRETS, sourceRef(namespace));
    const data = change({ ...(before?.["data"] as Record<string, string> | undefined) });
    const object = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: before?.metadata ?? sourceRef(namespace),
      type: "Opaque",
      data,
    };
    if (before) server.replace(SECRETS, object);
    else server.create(SECRETS, object);
  }

  #count(entry: Pushed): void {
    this.#changes.set(idOf(entry), (this.#changes.get(idOf(entry)) ?? 0) + 1);
  }

  /** Only the holder of the Lease writes to the vault (I7). */
  #checkWriter(user: string, operation: string): void {
    try {
      this.#leadership.check(`${operation} in the vault`, user);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.world.violations.push(error);
    }
  }
}
