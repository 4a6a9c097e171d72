import { FILE_NAMES, MANY_NAMES, SECRET_NAMES } from "./invariants/spec-items.ts";
import type { Draw, Feature } from "./random-features.ts";
import { randomRules } from "./simulated-rules.ts";
import { membersOf, type ValueForm, valueForms } from "./simulated-values.ts";
import { accountOf, CREATOR, urlOf, VAULTS } from "./world.ts";
import { CA_BUNDLE, WORKLOAD } from "./workloads.ts";

export const RESOURCES = ["alpha", "beta", "gamma"] as const;
/** Names of targets that resources have after each other. */
const TARGETS = ["shared-target", "moved-1", "moved-2", ...RESOURCES] as const;
const KEYS = ["k1", "k2", "k3"] as const;
/** Windows that open often; see `isOutside`. */
const WINDOWS = [
  { schedule: "*/10 * * * *", duration: "2m" },
  { schedule: "0,30 * * * *", duration: "5m" },
] as const;

const REWRITES = [
  { source: "^(.*)$", target: "r.$1" },
  { source: "^s(?<n>.)", target: "${n}-s" },
  { source: "^s\\d-(crt|key)$", target: "tls.$1" },
] as const;

interface DataEntry {
  readonly secretKey: string;
  readonly remoteRef: {
    readonly key: string;
    readonly owner?: string;
    readonly version?: number | string;
    readonly property?: string;
  };
}

const entry = (secretKey: string, key: string, member?: string): DataEntry => ({
  secretKey,
  remoteRef: { key, ...(member !== undefined && { property: `/${member}` }) },
});

/** Makes specs of resources and connections, with the features of an episode. */
export class SpecMaker {
  readonly #draw: Draw;
  readonly #mix: ReadonlySet<Feature>;

  constructor(draw: Draw, mix: ReadonlySet<Feature>) {
    this.#draw = draw;
    this.#mix = mix;
  }

  resource(kind: "VaultSecret" | "VaultFile", name: string): object {
    const { below } = this;
    const connectionRef = {
      ...(below(0.1) && { kind: "VaultConnection" }),
      name: below(0.8) ? "main" : "other",
    };
    const refreshInterval = this.#has("refreshInterval")
      ? this.#draw.pick([
          { refreshInterval: "5s" },
          { refreshInterval: "45s", expiryNotice: "1d" },
          { refreshInterval: "3m", expiryNotice: "9000d" },
        ])
      : {};
    const common = {
      connectionRef,
      ...refreshInterval,
      ...(this.#has("updates") && { updates: this.#updates() }),
      ...(below(0.05) && { suspend: true }),
      ...this.#restarts(name),
    };
    return kind === "VaultSecret"
      ? { ...common, ...this.#secrets() }
      : { ...common, ...this.#files() };
  }

  connection(namespace: string): object {
    const { pick } = this;
    return {
      url: urlOf(pick(VAULTS)),
      email: accountOf(namespace),
      auth: {
        passwordSecretRef: { name: "login", ...(this.#has("connections") && { key: "password" }) },
      },
      refreshInterval: pick(["5s", "10s", "60s"]),
      follow: pick(["Auto", "Interval"]),
      ...this.#scope(),
      ...this.#received(),
      ...(this.#has("connections") && { requestsPerSecond: pick([5, 50]) }),
      ...(this.#has("connections") && { tokenLifetime: pick(["1h", "24h"]) }),
      ...(this.#has("connections") && { timeout: pick(["2s", "10s"]) }),
      ...(this.#has("connections") && {
        caBundleRef: { kind: pick(["ConfigMap", "Secret"]), name: CA_BUNDLE, key: "ca.crt" },
      }),
    };
  }

  /** Returns the form and the metadata of a value. */
  value(): { readonly form?: ValueForm; readonly metadata?: Readonly<Record<string, string>> } {
    const hasForms = ["types", "forms", "rewrite"].some((feature) =>
      this.#mix.has(feature as Feature),
    );
    const metadata = this.#mix.has("findMetadata") && this.below(0.6);
    return {
      ...(hasForms && this.below(0.6) && { form: this.pick(valueForms) }),
      ...(metadata && { metadata: this.#metadata(["prod", "test"]) }),
    };
  }

  readonly below = (share: number): boolean => this.#draw.below(share);
  readonly pick = <T>(from: readonly T[]): T => this.#draw.pick(from);
  /** Reports whether a spec has a feature that its episode has. */
  #has(feature: Feature): boolean {
    return this.#mix.has(feature) && this.below(0.5);
  }

  /**
   * Returns the fields that say whose secrets are used: the creator's in an episode without the
   * feature.
   */
  #received(): object {
    if (!this.#mix.has("trustedOwners")) return { trustedOwners: [CREATOR] };
    const trustedOwners = this.pick([
      undefined,
      [CREATOR],
      ["eve@example.com"],
      [CREATOR, "eve@example.com"],
    ]);
    const receive = this.pick([undefined, "Trusted", "Anyone"]);
    return { ...(trustedOwners && { trustedOwners }), ...(receive !== undefined && { receive }) };
  }

  #scope(): object {
    if (!this.below(0.15)) return {};
    const attributes = [
      "cloudType",
      "environmentType",
      "applicationType",
      "classification",
    ] as const;
    const names = { secretName: ["s1", "s2"] };
    if (!this.#mix.has("connections"))
      return { scope: this.pick([{ onlyReferenced: true }, names]) };
    const metadata = Object.fromEntries(
      this.#draw.some(attributes).map((attribute) => [attribute, ["prod"]]),
    );
    return {
      scope: this.pick([
        { onlyReferenced: true },
        names,
        metadata,
        metadata,
        { onlyReferenced: true, ...metadata },
      ]),
    };
  }

  /** Returns an approval, windows, or both. */
  #updates(): object {
    const approval = this.below(0.7)
      ? { approval: this.pick(["Required", "Required", "None"]) }
      : {};
    const zone = this.below(0.5) ? { timeZone: this.pick(["UTC", "Europe/Berlin"]) } : {};
    const windows = [{ ...this.pick(WINDOWS), ...zone }];
    return { ...approval, ...(this.below(0.6) && { windows }) };
  }

  #restarts(name: string): object {
    if (name === "gamma") return {};
    const named = { kind: "Deployment", name: WORKLOAD };
    if (!this.#has("workloads")) return { rolloutRestart: [named] };
    const kinds = this.#draw.some(["Deployment", "StatefulSet", "DaemonSet"]);
    const selector = { matchLabels: { app: WORKLOAD } };
    return {
      rolloutRestart: kinds.map((kind, at) => ({
        kind,
        ...(this.below(0.5) ? { name: WORKLOAD } : { selector }),
        ...(at === 1 && { windows: [{ ...WINDOWS[0], timeZone: "Europe/Berlin" }] }),
      })),
    };
  }

  #secrets(): object {
    const type = this.#has("types")
      ? this.pick([
          "kubernetes.io/basic-auth",
          "kubernetes.io/tls",
          "kubernetes.io/dockerconfigjson",
        ])
      : undefined;
    const target = this.#target(type);
    const isTemplated = "template" in target;
    const typed = type === undefined || isTemplated ? [] : this.#typed(type);
    const others =
      typed.length > 0 && this.below(0.4)
        ? []
        : this.#draw.some(KEYS).map((secretKey) => this.#data(secretKey));
    const dataFrom = this.#dataFrom();
    const named = dataFrom.length > 0 && this.below(0.3) ? typed : [...typed, ...others];
    const data = [...named, ...this.#previous(named)];
    return {
      ...(data.length > 0 && { data }),
      ...(dataFrom.length > 0 && { dataFrom }),
      target: {
        ...target,
        ...(type !== undefined && target.creationPolicy !== "Merge" && { type }),
      },
    };
  }

  /** Returns the data of a Secret with a type, of values that usually fit it. */
  #typed(type: string): DataEntry[] {
    const source = this.pick(SECRET_NAMES);
    const { always, certificate, key } = membersOf(source);
    if (type === "kubernetes.io/tls")
      return [
        { ...entry("tls.crt", source, certificate), ...this.#validate(true) },
        entry("tls.key", source, key),
      ];
    if (type === "kubernetes.io/dockerconfigjson") return [entry(".dockerconfigjson", source)];
    const other = this.pick(SECRET_NAMES);
    const password = entry(
      "password",
      other,
      this.#has("forms") ? membersOf(other).encoded : undefined,
    );
    const isDecoded = "property" in password.remoteRef && this.below(0.8);
    const decoded = {
      ...password,
      remoteRef: { ...password.remoteRef, ...(isDecoded && { decoding: "Base64" }) },
    };
    return [entry("username", source, this.below(0.9) ? always : undefined), decoded];
  }

  #data(secretKey: string): DataEntry {
    const key = this.pick(this.#mix.has("many") && this.below(0.3) ? MANY_NAMES : SECRET_NAMES);
    const { always, sometimes, encoded } = membersOf(key);
    const members = this.#has("forms") ? [always, sometimes, encoded, encoded] : [always];
    const property = this.below(0.3) ? { property: `/${this.pick(members)}` } : {};
    const isEncoded = "property" in property && property.property === `/${encoded}`;
    const decoding =
      this.#mix.has("forms") && this.below(isEncoded ? 0.7 : 0.1)
        ? { decoding: this.pick(["Base64", "Base64URL", "None"]) }
        : {};
    return {
      secretKey,
      remoteRef: { key, ...this.#version(), ...this.#owner(), ...property, ...decoding },
      ...(this.below(0.15) && { optional: true }),
      ...this.#validate(false),
    };
  }

  #previous(data: readonly DataEntry[]): DataEntry[] {
    const following = data.filter(({ remoteRef: { version = "latest" } }) => version === "latest");
    if (following.length === 0 || !this.#mix.has("versions") || this.below(0.2)) return [];
    const { key, owner } = this.pick(following).remoteRef;
    const remoteRef = { key, ...(owner !== undefined && { owner }), version: "previous" };
    return [{ secretKey: "kp", remoteRef, ...(this.below(0.5) && { optional: true }) }];
  }

  #validate(isCertificate: boolean): object {
    return this.#has("validate") ? { validate: randomRules(this.#draw, isCertificate) } : {};
  }

  /** Returns rules that make several keys of sources, or none. */
  #dataFrom(): object[] {
    const isMany = this.#has("many");
    const hasMetadata = this.#has("findMetadata");
    if (!this.below(isMany || hasMetadata ? 0.7 : 0.3)) return [];
    if (isMany || hasMetadata)
      return [...(this.below(0.2) ? [this.#extract()] : []), this.#find(isMany, hasMetadata)];
    const entries = [this.#extract(), this.#find(false, false)];
    return this.below(0.1) ? entries : [this.pick(entries)];
  }

  #extract(): object {
    return {
      extract: { key: this.pick(SECRET_NAMES), ...this.#version(), ...this.#owner() },
      ...this.#rewrite(),
    };
  }

  #find(isMany: boolean, hasMetadata: boolean): object {
    const name = { name: { regexp: isMany ? "^m" : this.pick(["^s[12]$", "^s"]) } };
    const metadata = hasMetadata ? { metadata: this.#metadata(["prod"]) } : {};
    return {
      find: { ...(hasMetadata && this.below(0.3) ? {} : name), ...metadata },
      ...this.#rewrite(),
    };
  }

  #metadata(values: readonly string[]): Record<string, string> {
    const attributes = [
      "environment_type",
      "environment_type",
      "cloud_type",
      "application_type",
      "classification",
    ] as const;
    return { [this.pick(attributes)]: this.pick(values) };
  }

  #rewrite(): object {
    return this.#has("rewrite")
      ? { rewrite: this.#draw.some(REWRITES).map((regexp) => ({ regexp })) }
      : {};
  }

  #files(): object {
    const files = this.#draw.some(FILE_NAMES).map((filename) => ({
      filename,
      ...this.#version(),
      ...(this.#has("filesFrom") && { key: this.pick([`${filename}.conf`, filename]) }),
      ...this.#validate(false),
    }));
    const filesFrom = this.#has("filesFrom")
      ? [{ find: { filename: { regexp: this.pick(["^f", "^f1"]) } }, ...this.#rewrite() }]
      : [];
    const hasFiles = filesFrom.length === 0 || this.below(0.4);
    return {
      ...(hasFiles && { files }),
      ...(filesFrom.length > 0 && { filesFrom }),
      target: { kind: this.pick(["Secret", "ConfigMap"]), ...this.#target(undefined) },
    };
  }

  #target(type: string | undefined): { readonly creationPolicy?: string } {
    const name = this.below(this.#mix.has("renames") ? 0.5 : 0.15)
      ? { name: this.pick(TARGETS) }
      : {};
    const whenMissing = this.#has("whenMissing")
      ? { whenMissing: "Delete" }
      : this.#has("whenRemoved")
        ? { whenMissing: "Retain" }
        : {};
    const whenRemoved = this.#has("whenRemoved")
      ? { whenRemoved: this.pick(["Retain", "Retain", "Delete"]) }
      : {};
    const template = this.#has("template") ? this.#templated(this.#template(type)) : {};
    const all = { ...name, ...whenMissing, ...whenRemoved, ...template };
    const policies = [
      ...(this.#has("Orphan") ? ["Orphan"] : []),
      ...(this.#has("Merge") ? ["Merge"] : []),
      ...(this.#has("adopt") ? ["Owner"] : []),
    ];
    const creationPolicy = policies.length > 0 ? { creationPolicy: this.pick(policies) } : {};
    if (creationPolicy.creationPolicy === "Merge") return { ...all, ...creationPolicy };
    const metadata = this.#has("metadata") ? { labels: { team: this.pick(["red", "blue"]) } } : {};
    const notes = this.#has("metadata")
      ? { annotations: { "example.com/note": this.pick(["one", "two"]) } }
      : {};
    return {
      ...all,
      ...creationPolicy,
      ...metadata,
      ...notes,
      ...(this.#has("immutable") && { immutable: true }),
    };
  }

  /** Returns a template, and rules for some of its keys. */
  #templated(data: Record<string, string>): object {
    if (!this.#has("validate")) return { template: { data } };
    const keys = this.#draw.some(Object.keys(data));
    const rules = keys.map((key) => [key, randomRules(this.#draw, key === "tls.crt")] as const);
    return { template: { data }, validate: Object.fromEntries(rules) };
  }

  /** Returns templates whose variables the sources usually have. */
  #template(type: string | undefined): Record<string, string> {
    const variable = (name: string): string =>
      `{{ vars["${name}"]${this.below(0.7) ? ' | default: "none"' : ""} }}`;
    const text = (): string =>
      `tmpl:${this.#draw
        .some([...KEYS, "f1", "s1-a", "s1"])
        .map(variable)
        .join("|")}`;
    if (type === "kubernetes.io/basic-auth") return { username: variable("k1"), password: text() };
    if (type === "kubernetes.io/tls")
      return { "tls.crt": variable("s1-crt"), "tls.key": variable("s1-key") };
    if (type === "kubernetes.io/dockerconfigjson")
      return { ".dockerconfigjson": `{"auths":{"r":{"auth":"${variable("k1")}"}}}` };
    return Object.fromEntries(
      this.#draw
        .some(["t1", "t2", "k1"])
        .map((key) => [key, this.below(0.2) ? variable("k1") : text()]),
    );
  }

  #version(): { readonly version?: number | string } {
    const isPinned = this.below(0.2);
    if (!this.#mix.has("versions"))
      return isPinned ? { version: 1 + Math.floor(this.#draw.random() * 3) } : {};
    return this.below(0.5)
      ? { version: isPinned ? 1 + Math.floor(this.#draw.random() * 3) : "latest" }
      : {};
  }

  #owner(): { readonly owner?: string } {
    return this.below(0.1) ? { owner: CREATOR } : {};
  }
}
