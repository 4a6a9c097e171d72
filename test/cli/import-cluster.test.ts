import { mkdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";

/** `vaultsync import external-secrets` on ClusterExternalSecrets. */
const directory = new TestDirectory();

async function convert(spec: object, metadata: object = {}, version = "v1") {
  await mkdir(directory.path, { recursive: true });
  const path = directory.join("external-secrets.json");
  const object = {
    apiVersion: `external-secrets.io/${version}`,
    kind: "ClusterExternalSecret",
    metadata: { name: "registry", ...metadata },
    spec,
  };
  await writeFile(path, JSON.stringify(object));
  const args = ["import", "external-secrets", "-f", path];
  const { code, stdout, stderr } = await runInProcess(args);
  const [problems = "", handOver = ""] = stderr
    .replaceAll(`${path}:1: `, "")
    .split(/^to take over .*\n/mu);
  const documents = parseAllDocuments(stdout);
  const [first] = "empty" in documents ? [] : documents;
  return {
    code,
    stdout,
    object: first?.toJS() as unknown,
    problems: problems.split("\n").filter(Boolean),
    handOver: handOver.split("\n").filter(Boolean),
  };
}

const externalSecretSpec = {
  refreshInterval: "1h",
  secretStoreRef: { name: "corporate", kind: "ClusterSecretStore" },
  data: [{ secretKey: "password", remoteRef: { key: "login" } }],
};
const team = { matchLabels: { team: "shop" } };
const spec = (changes: object = {}): object => ({
  externalSecretSpec,
  namespaceSelectors: [team],
  ...changes,
});

test.each(["v1", "v1beta1"])(
  "a ClusterExternalSecret of %s becomes a ClusterVaultSecret",
  async (version) => {
    const matchExpressions = [{ key: "tier", operator: "NotIn", values: ["test"] }];
    const { code, object, problems } = await convert(
      {
        externalSecretName: "registry-login",
        refreshTime: "1m",
        namespaces: ["blog", "jobs"],
        namespaceSelector: { ...team, matchExpressions },
        externalSecretSpec: {
          ...externalSecretSpec,
          target: { creationPolicy: "Orphan", deletionPolicy: "Delete" },
        },
      },
      { labels: { team: "platform" } },
      version,
    );
    expect([code, problems]).toEqual([0, []]);
    expect(object).toEqual({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "ClusterVaultSecret",
      metadata: { name: "registry", labels: { team: "platform" } },
      spec: {
        connectionRef: { kind: "ClusterVaultConnection", name: "corporate" },
        namespaces: ["blog", "jobs"],
        namespaceSelector: { ...team, matchExpressions },
        refreshInterval: "1h",
        data: [{ secretKey: "password", remoteRef: { key: "login" } }],
        target: {
          name: "registry-login",
          creationPolicy: "Orphan",
          whenRemoved: "Delete",
          whenMissing: "Delete",
        },
      },
    });
  },
);

test.each<[string, object, object]>([
  ["the empty one", { namespaceSelectors: [{}] }, { namespaceSelector: { matchLabels: {} } }],
  ["one given twice", { namespaceSelector: team }, { namespaceSelector: team }],
  [
    "names next to labels",
    {
      namespaceSelectors: [
        { matchLabels: { "kubernetes.io/metadata.name": "blog" } },
        team,
        {
          matchExpressions: [
            { key: "kubernetes.io/metadata.name", operator: "In", values: ["jobs", "blog"] },
          ],
        },
      ],
    },
    { namespaceSelector: team, namespaces: ["blog", "jobs"] },
  ],
])("selectors are carried over: %s", async (_, changes, expected) => {
  const { code, object } = await convert(spec(changes));
  expect([code, object]).toMatchObject([0, { spec: expected }]);
});

test.each<[string, object, RegExp]>([
  [
    "several selectors",
    { namespaceSelectors: [team, { matchLabels: { team: "blog" } }] },
    /^spec\.namespaceSelectors: only one selector can be carried over/u,
  ],
  [
    "a SecretStore of each namespace",
    {
      externalSecretSpec: {
        ...externalSecretSpec,
        secretStoreRef: { name: "vault", kind: "SecretStore" },
      },
    },
    /^spec\.externalSecretSpec\.secretStoreRef\.kind: a SecretStore of each namespace/u,
  ],
  [
    "a store without a kind",
    { externalSecretSpec: { ...externalSecretSpec, secretStoreRef: { name: "vault" } } },
    /^spec\.externalSecretSpec\.secretStoreRef\.kind: a SecretStore of each namespace/u,
  ],
  [
    "the policy Merge",
    { externalSecretSpec: { ...externalSecretSpec, target: { creationPolicy: "Merge" } } },
    /^spec\.externalSecretSpec\.target\.creationPolicy: only Owner and Orphan/u,
  ],
  [
    "labels of the ExternalSecrets",
    { externalSecretMetadata: { labels: { team: "shop" } } },
    /^spec\.externalSecretMetadata\.labels: has no counterpart, .* set spec\.target\.labels/u,
  ],
  ["an unknown field", { somethingNew: 1 }, /^spec\.somethingNew: has no counterpart/u],
  [
    "no namespace",
    { namespaceSelectors: [] },
    /^the ClusterVaultSecret is not complete: spec: .* must select namespaces/u,
  ],
  [
    "an operator of labels that does not exist",
    { namespaceSelectors: [{ matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] }] },
    /^the ClusterVaultSecret is not complete: spec\.namespaceSelector\./u,
  ],
])("%s is reported, and the resource is suspended and not handed over", async (...row) => {
  const [, changes, message] = row;
  const { code, object, problems, handOver, stdout } = await convert(spec(changes));
  expect([code, problems]).toEqual([3, [expect.stringMatching(message)]]);
  expect(object).toMatchObject({ kind: "ClusterVaultSecret", spec: { suspend: true } });
  expect(handOver).toEqual([]);
  expect(stdout).toContain(`# Incomplete, and suspended`);
});

test("the hand-over says in which order the Secrets stay, and has no command for all steps", async () => {
  const { handOver } = await convert(spec({ namespaces: ["blog"] }));
  expect(handOver.map((line) => line.trim())).toEqual([
    "1. set creationPolicy: Orphan and deletionPolicy: Retain in its spec.externalSecretSpec.target",
    expect.stringMatching(/^2\. wait until no Secret registry has an owner/u),
    "3. delete the ClusterExternalSecret: kubectl delete clusterexternalsecret registry",
    "4. hand over the Secret in each namespace:",
    "kubectl annotate secret registry -n blog vaultsync.dev/adopt=ClusterVaultSecret/registry",
    "kubectl annotate secret registry -n NAMESPACE vaultsync.dev/adopt=ClusterVaultSecret/registry",
  ]);
});

/** Converts an ExternalSecret that a ClusterExternalSecret created, and other objects. */
async function convertCreated(...others: object[]) {
  const apiVersion = "external-secrets.io/v1";
  const owner = { apiVersion, kind: "ClusterExternalSecret", name: "registry", uid: "1" };
  const created = {
    apiVersion,
    kind: "ExternalSecret",
    metadata: { name: "registry", namespace: "blog", ownerReferences: [owner] },
    spec: externalSecretSpec,
  };
  await mkdir(directory.path, { recursive: true });
  const path = directory.join("list.json");
  const list = { apiVersion: "v1", kind: "List", items: [created, ...others] };
  await writeFile(path, JSON.stringify(list));
  const { code, stdout, stderr } = await runInProcess(["import", "external-secrets", "-f", path]);
  return { code, stdout, stderr: stderr.replaceAll(`${path}:1: `, "") };
}

test("an ExternalSecret that a ClusterExternalSecret created is converted with that one", async () => {
  const { code, stdout, stderr } = await convertCreated({
    apiVersion: "external-secrets.io/v1",
    kind: "ClusterExternalSecret",
    metadata: { name: "registry" },
    spec: spec(),
  });
  expect([code, stdout.match(/^kind: .*$/gmu)]).toEqual([0, ["kind: ClusterVaultSecret"]]);
  // It would be created again, and the former operator would write the Secret again.
  expect(stderr).not.toContain("kubectl delete externalsecret ");
});

test("an ExternalSecret that a ClusterExternalSecret created is not converted alone", async () => {
  expect(await convertCreated()).toEqual({
    code: 3,
    stdout: "",
    stderr:
      "ExternalSecret registry is not converted: ClusterExternalSecret registry creates it: convert that one\n",
  });
});

test("a name that no object has is in no command for a shell", async () => {
  const { code, problems, handOver } = await convert(spec(), { name: "registry; id" });
  expect([code, problems, handOver]).toEqual([
    3,
    ["metadata.name: must consist of lower-case letters, digits, '-' and '.'"],
    [],
  ]);
  const secret = {
    apiVersion: "external-secrets.io/v1",
    kind: "ExternalSecret",
    metadata: { name: "db", namespace: "$(id)" },
    spec: externalSecretSpec,
  };
  const path = directory.join("one.json");
  await writeFile(path, JSON.stringify(secret));
  const { stderr } = await runInProcess(["import", "external-secrets", "-f", path]);
  expect(stderr).not.toContain("kubectl");
});
