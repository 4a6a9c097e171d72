import { mkdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { rewriteKey } from "../../src/operator/sync/rewrite-key.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";

/** `vaultsync import external-secrets` on manifests as External Secrets Operator documents them. */
const directory = new TestDirectory();

async function convert(...lines: string[]) {
  await mkdir(directory.path, { recursive: true });
  const path = directory.join("external-secrets.yaml");
  await writeFile(path, `${lines.join("\n")}\n`);
  const { code, stdout, stderr } = await runInProcess([
    "import",
    "external-secrets",
    "-f",
    path,
    "-n",
    "shop",
  ]);
  const [first] =
    "empty" in parseAllDocuments(stdout)
      ? []
      : parseAllDocuments(stdout).map((document): unknown => document.toJS());
  const [problems = "", adopt = ""] = stderr
    .replaceAll(`${path}:`, "")
    .split("to take over the existing Secrets, which stay meanwhile:\n");
  return {
    code,
    stdout,
    object: first,
    problems: problems.split("\n").filter(Boolean),
    adopt: adopt.trim(),
  };
}

const header = [
  "apiVersion: external-secrets.io/v1",
  "kind: ExternalSecret",
  "metadata:",
  "  name: db",
  "  namespace: shop",
];
const store = ["spec:", "  secretStoreRef: { name: vault, kind: SecretStore }"];
/** The rule by which characters that no key may have become underscores. */
const validKeys = [{ regexp: { source: "[^-._a-zA-Z0-9]", target: "_" } }];
const entry = ["  data:", "    - secretKey: password", "      remoteRef: { key: shop-db"];

test("an ExternalSecret with all that can be carried over", async () => {
  const { code, object, problems, adopt } = await convert(
    ...header,
    "  labels: { team: shop }",
    '  annotations: { kubectl.kubernetes.io/last-applied-configuration: "{}", example.com/page: on-call }',
    "spec:",
    "  refreshInterval: 1h0m0s",
    "  refreshPolicy: Periodic",
    "  secretStoreRef: { name: central, kind: ClusterSecretStore }",
    "  target:",
    "    name: db-login",
    "    creationPolicy: Orphan",
    "    deletionPolicy: Delete",
    "    immutable: true",
    "    template: { type: kubernetes.io/basic-auth, metadata: { labels: { tier: data }, annotations: { example.com/a: b } }, engineVersion: v2, data: { url: 'db://{{ .username }}:{{ .password | toJson }}' } }",
    "  data:",
    "    - secretKey: username",
    "      remoteRef: { key: shop-db, property: users.0.name, version: '3', decodingStrategy: Base64 }",
    "    - secretKey: password",
    "      remoteRef: { key: shop-db, conversionStrategy: Default, decodingStrategy: None, metadataPolicy: None }",
    "  dataFrom:",
    "    - extract: { key: shop-config, version: latest }",
    "    - find: { name: { regexp: ^env/ }, tags: { environment_type: prod } }",
    "      rewrite: [{ regexp: { source: '^env/(.*)$', target: $1 } }]",
  );
  expect(code).toBe(0);
  expect(problems).toEqual([]);
  expect(object).toEqual({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: {
      name: "db",
      namespace: "shop",
      labels: { team: "shop" },
      annotations: { "example.com/page": "on-call" },
    },
    spec: {
      connectionRef: { kind: "ClusterVaultConnection", name: "central" },
      refreshInterval: "1h0m0s",
      data: [
        {
          secretKey: "username",
          remoteRef: { key: "shop-db", version: 3, property: "/users/0/name", decoding: "Base64" },
        },
        { secretKey: "password", remoteRef: { key: "shop-db" } },
      ],
      dataFrom: [
        { extract: { key: "shop-config" }, rewrite: validKeys },
        {
          find: { name: { regexp: "^env/" }, metadata: { environment_type: "prod" } },
          rewrite: [{ regexp: { source: "^env/(.*)$", target: "$1" } }],
        },
      ],
      target: {
        name: "db-login",
        type: "kubernetes.io/basic-auth",
        labels: { tier: "data" },
        annotations: { "example.com/a": "b" },
        creationPolicy: "Orphan",
        whenRemoved: "Delete",
        whenMissing: "Delete",
        immutable: true,
        template: { data: { url: "db://{{ username }}:{{ password | json }}" } },
      },
    },
  });
  expect(adopt.split("\n").map((line) => line.trim())).toEqual([
    // Its finalizer would delete the Secret: --cascade=orphan does not prevent that.
    `kubectl patch externalsecret db -n shop --type=merge -p '{"spec":{"target":{"deletionPolicy":"Retain"}}}'`,
    "kubectl delete externalsecret db -n shop --cascade=orphan",
    "kubectl annotate secret db-login -n shop vaultsync.dev/adopt=VaultSecret/db",
  ]);
});

/** Converts an ExternalSecret with labels and annotations, and these lines about its target. */
const labeled = (...target: string[]) =>
  convert(
    ...header,
    "  labels: { team: shop, app.kubernetes.io/instance: db }",
    "  annotations: { example.com/page: on-call, argocd.argoproj.io/tracking-id: x }",
    ...store,
    ...target,
    `${entry.join("\n")} }`,
  );

test("labels and annotations that the Secret has of the ExternalSecret are kept", async () => {
  const { code, object } = await labeled();
  expect(code).toBe(0);
  expect(object).toHaveProperty("spec.target.labels", { team: "shop" });
  expect(object).toHaveProperty("spec.target.annotations", { "example.com/page": "on-call" });
});

test.each(["template: { type: Opaque }", "creationPolicy: Merge, name: shared"])(
  "labels of an ExternalSecret that its Secret does not have are none of the target: %s",
  async (target) => {
    const { code, object } = await labeled(`  target: { ${target} }`);
    expect(code).toBe(0);
    expect(object).not.toHaveProperty("spec.target.labels");
    expect(object).not.toHaveProperty("spec.target.annotations");
  },
);

test("removed entries are retained by default, as before", async () => {
  const { code, object } = await convert(...header, ...store, `${entry.join("\n")} }`);
  expect(code).toBe(0);
  expect(object).toMatchObject({
    spec: { connectionRef: { name: "vault" }, target: { whenRemoved: "Retain" } },
  });
});

test.each([
  ["  refreshInterval: 0s", /^7: spec\.refreshInterval: 0 has no counterpart/u],
  ["  refreshPolicy: OnChange", /^7: spec\.refreshPolicy: only Periodic/u],
  [
    "  target: { creationPolicy: None }",
    /^7: spec\.target\.creationPolicy: None has no counterpart/u,
  ],
  [
    "  target: { deletionPolicy: Merge }",
    /^7: spec\.target\.deletionPolicy: Merge becomes Delete/u,
  ],
  [
    "  target: { template: { templateFrom: [] } }",
    /^7: spec\.target\.template\.templateFrom: has no counterpart/u,
  ],
  [
    "  target: { template: { data: { url: '{{ range . }}' } } }",
    /^7: spec\.target\.template\.data\.url: write the template/u,
  ],
  [
    "  target: { template: { metadata: { annotations: { example.com/user: '{{ .user }}' } } } }",
    /^7: spec\.target\.template\.metadata\.annotations\.example\.com\/user: a template/u,
  ],
  [
    "  target: { template: { mergePolicy: Merge } }",
    /^7: spec\.target\.template\.mergePolicy: has no counterpart/u,
  ],
  [
    "  target: { manifest: { apiVersion: v1, kind: ConfigMap } }",
    /^7: spec\.target\.manifest: has no counterpart/u,
  ],
  [
    "  dataFrom: [{ extract: { key: config, property: app } }]",
    /^7: spec\.dataFrom\[0\]\.extract\.property: has no counterpart/u,
  ],
  ["  somethingNew: 1", /^7: spec\.somethingNew: has no counterpart/u],
])(
  "%j is reported with its line, and the resource is suspended and not handed over",
  async (line, message) => {
    const { code, problems, object, adopt, stdout } = await convert(
      ...header,
      store[0] ?? "",
      line,
      store[1] ?? "",
      `${entry.join("\n")} }`,
    );
    expect(code).toBe(3);
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(adopt).toBe("");
    expect(object).toMatchObject({ spec: { suspend: true } });
    const lost = (problems[0] ?? "").replace(/^\d+: /u, "");
    expect(stdout).toContain(
      `# Incomplete, and suspended: complete what is listed here, then remove spec.suspend.\n# ${lost}\n`,
    );
  },
);

test("an incomplete resource does not keep a complete one from its hand-over", async () => {
  const complete = [
    ...header.map((line) => line.replace("db", "api")),
    ...store,
    `${entry.join("\n")} }`,
  ];
  const { adopt, stdout } = await convert(...header, ...store, "  data: []", "---", ...complete);
  expect(adopt.split("\n").map((line) => line.trim())).toEqual([
    "kubectl delete externalsecret api -n shop --cascade=orphan",
    "kubectl annotate secret api -n shop vaultsync.dev/adopt=VaultSecret/api",
  ]);
  expect(stdout.match(/suspend: true/gu)).toHaveLength(1);
});

test.each([
  ["path: shop., name: { regexp: .* }", String.raw`^shop\.`],
  ["path: 'a/b+'", String.raw`^a/b\+`],
  ["path: '', name: { regexp: ^x }", "^x"],
])("find: { %s } becomes the beginning of the names", async (find, regexp) => {
  const { code, object } = await convert(
    ...header,
    ...store,
    "  dataFrom:",
    `    - find: { ${find} }`,
  );
  expect([code, object]).toMatchObject([
    0,
    { spec: { dataFrom: [{ find: { name: { regexp } } }] } },
  ]);
});

test("keys without rules of their own become valid as by conversionStrategy Default", async () => {
  const { object } = await convert(
    ...header,
    ...store,
    "  dataFrom:",
    "    - find: { name: { regexp: ^app/ }, conversionStrategy: Default }",
  );
  expect(object).toMatchObject({ spec: { dataFrom: [{ rewrite: validKeys }] } });
  const rules = validKeys.map(({ regexp }) => regexp);
  expect(rewriteKey(rules, "app/db user:1.a-b_c")).toBe("app_db_user_1.a-b_c");
});

test("a path next to a regular expression is incomplete, and does not find more than the path", async () => {
  const { code, object, problems } = await convert(
    ...header,
    ...store,
    "  dataFrom:",
    "    - find: { path: shop/, name: { regexp: -db$ } }",
  );
  expect([code, object]).toMatchObject([
    3,
    { spec: { suspend: true, dataFrom: [{ find: { name: { regexp: "^shop/" } } }] } },
  ]);
  expect(problems).toEqual([
    expect.stringMatching(/^9: spec\.dataFrom\[0\]\.find\.path: write one regular expression/u),
  ]);
});

test.each([
  [", property: 'users.#.name'", /^11: spec\.data\[0\]\.remoteRef\.property: .*JSON Pointer/u],
  [", version: 6c2f", /^11: spec\.data\[0\]\.remoteRef\.version: versions are positive integers/u],
  [
    ", decodingStrategy: Auto",
    /^11: spec\.data\[0\]\.remoteRef\.decodingStrategy: None, Base64 and Base64URL/u,
  ],
  [", metadataPolicy: Fetch", /^11: spec\.data\[0\]\.remoteRef\.metadataPolicy: /u],
])("a reference with %j is reported with its line", async (field, message) => {
  const { code, problems } = await convert(
    ...header,
    ...store,
    "",
    `${entry.join("\n")}${field} }`,
  );
  expect(code).toBe(3);
  expect(problems).toEqual([expect.stringMatching(message)]);
});

test("a key of another store is incomplete: this one may have another secret of its name", async () => {
  const { code, object, problems, adopt } = await convert(
    ...header,
    ...store,
    `${entry.join("\n")} }`,
    "      sourceRef: { storeRef: { name: other } }",
  );
  expect([code, object]).toMatchObject([3, { spec: { suspend: true } }]);
  expect(problems).toEqual([
    expect.stringMatching(/^11: spec\.data\[0\]\.sourceRef: has no counterpart/u),
  ]);
  expect(adopt).toBe("");
});

test("an ExternalSecret without a source is reported, and a generator is", async () => {
  const generator = "    - sourceRef: { generatorRef: { kind: Password, name: random } }";
  const { code, problems } = await convert(...header, ...store, "  dataFrom:", generator);
  expect(code).toBe(3);
  expect(problems).toContainEqual(
    expect.stringMatching(/^9: spec\.dataFrom\[0\]\.sourceRef: has no counterpart/u),
  );
  expect(problems).toContainEqual(
    expect.stringMatching(/^7: the VaultSecret is not complete: spec\.dataFrom\[0\]/u),
  );
});

const other = (kind: string) => [
  "---",
  "apiVersion: external-secrets.io/v1",
  `kind: ${kind}`,
  "metadata: { name: one }",
  "spec: {}",
];

test("other objects are named with what to create instead; files without any are an error", async () => {
  const { code, problems } = await convert(
    ...["SecretStore", "ClusterSecretStore", "PushSecret"].flatMap(other),
  );
  expect(code).toBe(3);
  expect(problems).toEqual([
    expect.stringMatching(/^3: SecretStore one is not converted: create a VaultConnection/u),
    expect.stringMatching(/^8: ClusterSecretStore one is not converted/u),
    expect.stringMatching(/^13: PushSecret one is not converted/u),
  ]);
  expect(await convert("apiVersion: v1", "kind: Secret", "metadata: { name: x }")).toMatchObject({
    code: 1,
    problems: [expect.stringMatching(/no external-secrets\.io objects in/u)],
  });
});

test("keys that several ExternalSecrets merge into one object are handed over together", async () => {
  const spec = [
    ...store,
    "  target: { name: shared, creationPolicy: Merge }",
    "  dataFrom: [{ extract: { key: db } }]",
  ];
  const another = header.map((line) => line.replace("name: db", "name: cache"));
  const { adopt } = await convert(...header, ...spec, "---", ...another, ...spec);
  expect(adopt.split("\n").map((line) => line.trim())).toEqual([
    "kubectl delete externalsecret db -n shop --cascade=orphan",
    "kubectl delete externalsecret cache -n shop --cascade=orphan",
    "kubectl annotate secret shared -n shop vaultsync.dev/adopt=VaultSecret/db,VaultSecret/cache",
  ]);
});

test("what kubectl get prints, a List, is converted from standard input", async () => {
  const item = {
    apiVersion: "external-secrets.io/v1",
    kind: "ExternalSecret",
    metadata: { name: "db", namespace: "shop", uid: "1", resourceVersion: "2" },
    spec: {
      refreshInterval: "1h",
      secretStoreRef: { kind: "SecretStore", name: "vault" },
      data: [{ secretKey: "password", remoteRef: { key: "shop-db" } }],
    },
    status: { refreshTime: null },
  };
  const items = [item, { ...item, metadata: { name: "api", namespace: "shop" } }];
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { code, stdout, stderr } = await VaultsyncProcess.run(
    ["import", "external-secrets", "-f", "-"],
    { input },
  );
  expect([code, stdout.match(/^ {2}name: .*$/gmu)]).toEqual([0, ["  name: db", "  name: api"]]);
  expect(stderr).toContain(
    "kubectl annotate secret api -n shop vaultsync.dev/adopt=VaultSecret/api",
  );
});
