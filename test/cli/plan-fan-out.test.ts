import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/operator/kube/resource.ts";
import { clusterSecret, corporate, failing, namespaceOf } from "../lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../lab/kube/object-server.ts";
import {
  ann,
  connection,
  directory,
  header,
  plan,
  run,
  secret,
  vault,
  write,
} from "./support/plan-repository.ts";

/** `vaultsync plan` on ClusterVaultSecrets and ClusterVaultFiles. */

const clusterHeader = (kind: string, name: string): string[] =>
  header(kind, name).map((line) => line.replace(", namespace: shop", ""));

const cluster = (...access: string[]): string[] => [
  ...clusterHeader("ClusterVaultConnection", "corporate"),
  ...connection().slice(4),
  "  access:",
  ...access,
];
const ALL = "    - { namespaceSelector: { matchLabels: {} }, secrets: [shop/*], files: ['*'] }";
const TEAM = "    - { namespaceSelector: { matchLabels: { team: shop } }, secrets: [shop/*] }";

const registry = (selection: string, ...references: string[]): string[] => [
  ...clusterHeader("ClusterVaultSecret", "registry"),
  "  connectionRef: { kind: ClusterVaultConnection, name: corporate }",
  `  ${selection}`,
  "  data:",
  ...references.map((one, index) => `    - { secretKey: key-${index}, remoteRef: { ${one} } }`),
];
const NAMED = "namespaces: [shop, blog]";
const SELECTED = "namespaceSelector: { matchLabels: { team: shop } }";
const namespace = (name: string, team: string): string[] => [
  "---",
  "apiVersion: v1",
  "kind: Namespace",
  `metadata: { name: ${name}, labels: { team: ${team} } }`,
];

/** Returns the rows of the table, without its header. */
const rows = (stdout: string): string[][] =>
  stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/u));

const row = (place: string, version: string): string[] => [
  place,
  "clustervaultsecret/registry",
  "Secret/registry",
  "key-0",
  "shop/db",
  version,
];

describe("without a cluster", () => {
  test("there is a row for each namespace that the spec names or that the files have", async () => {
    await write("1-connection.yaml", ...cluster(ALL));
    await write("2-registry.yaml", ...registry(NAMED, "key: shop/db"));
    const named = await plan();
    expect([named.code, named.stderr]).toEqual([0, ""]);
    expect(rows(named.stdout)).toEqual([row("shop", "2"), row("blog", "2")]);
    await write(
      "2-registry.yaml",
      ...registry(SELECTED, "key: shop/db"),
      ...namespace("blog", "shop"),
      ...namespace("other", "none"),
    );
    const selected = await plan("--strict");
    expect([selected.code, rows(selected.stdout)]).toEqual([3, [row("blog", "2")]]);
    expect(selected.stderr).toBe(
      "the namespaces that spec.namespaceSelector of clustervaultsecret/registry selects are not all known, and so not all checked: add their Namespaces to the files, or compare with a cluster (--cluster)\n",
    );
  });

  test("its sources are checked also if no namespace is known", async () => {
    await write("1-connection.yaml", ...cluster(TEAM));
    await write("2-registry.yaml", ...registry(SELECTED, "key: shop/db", "key: shop/dv"));
    const { code, stdout, stderr } = await plan();
    expect([code, rows(stdout)[0]]).toEqual([3, row("-", "2")]);
    expect(stderr.split("\n")[0]).toBe(
      `2-registry.yaml:9: shop/dv is not in the list of ${ann}: check its name (did you mean shop/db?), its shares and the scope of the connection; the Secret registry is not created without it`,
    );
  });

  test("a ClusterVaultFile is checked with the files of the vault", async () => {
    await write("1-connection.yaml", ...cluster(ALL));
    await write(
      "2-web.yaml",
      ...clusterHeader("ClusterVaultFile", "web"),
      "  connectionRef: { kind: ClusterVaultConnection, name: corporate }",
      "  namespaces: [shop]",
      "  target: { kind: ConfigMap }",
      "  files: [{ filename: nginx.conf }, { filename: absent.conf }]",
    );
    const { code, stdout, stderr } = await plan();
    expect(code).toBe(3);
    expect(stdout).toMatch(/^shop +clustervaultfile\/web +ConfigMap\/web +nginx.conf .* 1$/mu);
    expect(stderr).toContain("2-web.yaml:8: absent.conf is not in the list");
  });

  test("each mistake is named once, with its file and line", async () => {
    await write("1-connection.yaml", ...cluster(ALL));
    await write("2-source.yaml", ...registry(NAMED, "key: shop/dv"));
    await write(
      "3-fields.yaml",
      ...clusterHeader("ClusterVaultSecret", "fields"),
      "  connectionRef: { kind: VaultConnection, name: corporate }",
      "  rolloutRestart: [{ kind: Deployment, name: web }]",
      "  target: { creationPolicy: Merge }",
      "  data: [{ secretKey: a, remoteRef: { key: shop/db } }]",
    );
    await write("4-target.yaml", ...secret("registry", "key: shop/db"));
    await write(
      "5-missing.yaml",
      ...registry("namespaces: [x]", "key: shop/db").map((line) =>
        line.replace("corporate", "absent").replace("name: registry", "name: lost"),
      ),
    );
    const { code, stderr } = await plan();
    expect(code).toBe(3);
    expect(stderr.trimEnd().split("\n")).toEqual([
      "2-source.yaml:5: spec.target.name: the resource at 4-target.yaml:3 has this target: choose another name",
      expect.stringMatching(/^2-source\.yaml:8: shop\/dv is not in the list/u),
      expect.stringMatching(/^3-fields\.yaml:5: spec\.connectionRef\.kind: /u),
      "3-fields.yaml:6: spec.rolloutRestart: unknown field",
      expect.stringMatching(/^3-fields\.yaml:7: spec\.target\.creationPolicy: /u),
      "4-target.yaml:5: spec.connectionRef.name: no VaultConnection vault in namespace shop in these files",
      "ClusterVaultConnection absent is not in these files: neither its access nor the references through it are checked",
    ]);
  });

  test("a resource that selects nothing is invalid", async () => {
    await write("registry.yaml", ...registry("suspend: false", "key: shop/db"));
    expect(await plan("--offline")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^registry\.yaml:5: spec: spec\.namespaces or .* must select/u),
    });
  });

  test.each([
    [NAMED, 3, ["blog"]],
    [SELECTED, 0, []],
  ])("access is checked for the namespaces of %j", async (selection, code, denied) => {
    await write("1-connection.yaml", ...cluster(TEAM));
    await write(
      "2-registry.yaml",
      ...registry(selection, "key: shop/db"),
      ...namespace("shop", "shop"),
      ...namespace("blog", "none"),
    );
    const result = await plan("--offline");
    expect(result.code).toBe(code);
    const refused =
      /^2-registry\.yaml:5: spec\.access of \w+ corporate has no entry for the namespace (\w+)/gmu;
    expect([...result.stderr.matchAll(refused)].map(([, name]) => name)).toEqual(denied);
  });

  test("a namespace that labels select may be denied, but not all of them", async () => {
    const everywhere = "namespaceSelector: { matchLabels: {} }";
    const resource = registry(everywhere, "key: shop/db");
    await write("1-connection.yaml", ...cluster(TEAM));
    const denied = namespace("blog", "none");
    await write("2-registry.yaml", ...resource, ...namespace("shop", "shop"), ...denied);
    const some = await plan();
    expect([some.code, some.stderr]).toEqual([0, expect.not.stringContaining("spec.access of")]);
    expect(some.stdout).toMatch(/^blog .* NamespaceNotAllowed$/mu);
    await write("2-registry.yaml", ...resource, ...denied);
    expect(await plan()).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("has no entry for the namespace blog"),
    });
  });

  test("render and run reject one, because its targets are in several namespaces", async () => {
    await write("registry.yaml", ...registry(NAMED, "key: shop/db"));
    const files = ["-f", directory.join("repository")];
    for (const args of [
      ["render", "--json", ...files],
      ["run", ...files, "--", "true"],
    ])
      expect(await run(...args)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining(
          "registry.yaml:2: a ClusterVaultSecret has targets in several namespaces",
        ),
      });
  });
});

describe("with a cluster", () => {
  const namespaces = [
    namespaceOf("blog", { team: "shop" }),
    namespaceOf("shop", { team: "shop" }),
    namespaceOf("other"),
  ];
  const live = corporate({ url: vault.url, email: ann });
  const data = [{ secretKey: "key-0", remoteRef: { key: "shop/db" } }];
  const item = { secretKey: "key-0", key: "shop/db", version: 1, latest: 1 };
  const existing = (status: object = {}, spec: object = {}): KubeObject =>
    clusterSecret("registry", { spec: { data, ...spec }, status: { items: [item], ...status } });

  /** Compares the ClusterVaultSecret of the files with these objects. */
  async function compared(objects: readonly KubeObject[], ...denied: string[]) {
    await write("registry.yaml", ...registry(SELECTED, "key: shop/db"));
    await using api = await ObjectServer.start([...namespaces, live, ...objects], { denied });
    const { code, stdout, stderr } = await plan("--kubeconfig", api.kubeconfig);
    return { code, rows: rows(stdout).map((cells) => [cells[0], cells[5]]), stderr };
  }

  test("the namespaces of the cluster that are selected get the target", async () => {
    expect(await compared([])).toEqual({
      code: 0,
      stderr: "",
      rows: [
        ["blog", "2 (new)"],
        ["shop", "2 (new)"],
      ],
    });
  });

  test("a target in sync has the version of the status before", async () => {
    const { rows: shown, stderr } = await compared([existing()]);
    expect(shown).toEqual([
      ["blog", "1 → 2"],
      ["shop", "1 → 2"],
    ]);
    expect(stderr).toBe(
      "restarts by clustervaultsecret/registry are not shown: workloads with the annotation vaultsync.dev/restart: auto follow its targets\n",
    );
  });

  test("a namespace that the cluster's spec does not select gets its first target", async () => {
    const spec = { namespaceSelector: undefined, namespaces: ["shop"] };
    const status = { namespaces: { selected: 1, ready: 1, failed: 0 } };
    expect((await compared([existing(status, spec)])).rows).toEqual([
      ["blog", "2 (new)"],
      ["shop", "1 → 2"],
    ]);
  });

  test("a target that is not in sync is not compared", async () => {
    const { rows: shown, stderr } = await compared([existing(failing("SourceMissing"))]);
    expect(shown).toEqual([
      ["blog", "2"],
      ["shop", "1 → 2"],
    ]);
    expect(stderr).toContain(
      "clustervaultsecret/registry in namespace blog is not compared with the cluster: its status does not show what the target has there",
    );
  });

  test("what the user may not read is named", async () => {
    const hidden = await compared([existing()], "clustervaultsecrets");
    expect(hidden).toMatchObject({
      code: 0,
      rows: [
        ["blog", "2"],
        ["shop", "2"],
      ],
      stderr: expect.stringContaining(
        "is not compared with the cluster: you may not read it there",
      ),
    });
    const unlisted = await compared([existing()], "namespaces");
    expect(unlisted.stderr).toContain(
      "are not all known, and so not all checked: you may not list the namespaces of the cluster",
    );
  });

  /** A VaultSecret with the target of the ClusterVaultSecret, in the namespace `blog`. */
  const owner: KubeObject = {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: { namespace: "blog", name: "own", uid: "own", generation: 1 },
    spec: { connectionRef: { name: "vault" }, data, target: { name: "registry" } },
    status: { target: { kind: "Secret", name: "registry", digest: "digest" } },
  };

  test("a target that a VaultSecret of a namespace has is a conflict there", async () => {
    expect(await compared([owner])).toMatchObject({
      code: 3,
      stderr:
        "registry.yaml:5: spec.target.name: the VaultSecret own of the cluster in namespace blog has this target: choose another name\n",
    });
    const { metadata } = owner;
    const elsewhere = { ...owner, metadata: { ...metadata, namespace: "other" } };
    expect(await compared([elsewhere])).toMatchObject({ code: 0, stderr: "" });
  });

  test("conflicts with resources that the user may not list are not checked", async () => {
    expect(await compared([owner], "vaultsecrets")).toMatchObject({
      code: 0,
      stderr:
        "whether other resources have the targets of ClusterVaultSecrets and ClusterVaultFiles is not checked: you may not list the VaultSecrets and VaultFiles of all namespaces\n",
    });
  });

  test("a name without a namespace is named", async () => {
    await write("registry.yaml", ...registry("namespaces: [shop, blgo]", "key: shop/db"));
    await using api = await ObjectServer.start([...namespaces, live]);
    expect((await plan("--kubeconfig", api.kubeconfig)).stderr).toBe(
      "no namespace blgo in the files or in the cluster: clustervaultsecret/registry has no target there until it is created\n",
    );
  });
});
