import { expect, test } from "vitest";
import { bob, connection, header, plan, secret, write } from "./support/plan-repository.ts";

const through = (...lines: string[]): string[] =>
  lines.map((line) =>
    line.replace("{ name: vault }", "{ kind: ClusterVaultConnection, name: vault }"),
  );

test("references through a connection of the cluster are not those of one of the namespace", async () => {
  await write("1-namespace.yaml", ...connection("https://other.example.com"));
  const cluster = connection().map((line) =>
    line.replace("kind: Vault", "kind: ClusterVault").replace(", namespace: shop", ""),
  );
  await write(
    "2-cluster.yaml",
    ...cluster,
    "  access:",
    "    - namespaceSelector: { matchLables: {} }",
  );
  await write(
    "3-secrets.yaml",
    ...secret("own", "key: shop/dv"),
    "---",
    ...through(...secret("shared", "key: shop/dv")),
  );
  const { code, stderr } = await plan();
  expect(code).toBe(3);
  expect(stderr.split("\n")).toEqual([
    expect.stringMatching(
      /^2-cluster.yaml:9: spec.access\[0\].namespaceSelector: must have matchLabels or matchExpressions/u,
    ),
    "2-cluster.yaml:9: spec.access[0].namespaceSelector.matchLables: unknown field (did you mean matchLabels?)",
    "references of VaultConnection shop/vault are not checked: log in to https://other.example.com as ann@example.com",
    "",
  ]);
  await write(
    "2-cluster.yaml",
    ...cluster,
    "  access:",
    "    - namespaceSelector: { matchLabels: {} }",
    "      secrets: [shop/*]",
  );
  expect((await plan()).stderr).toContain(
    "3-secrets.yaml:15: shop/dv is not in the list of ann@example.com: check its name (did",
  );
});

const byLabel = (labels: string): string[] => [
  "  access:",
  `    - namespaceSelector: { matchLabels: ${labels} }`,
  "      secrets: [shop/*]",
];

test("names that a connection of the cluster does not allow are problems", async () => {
  const cluster = connection().map((line) =>
    line.replace("kind: Vault", "kind: ClusterVault").replace(", namespace: shop", ""),
  );
  await write("secret.yaml", ...through(...secret("shared", "key: shop/db")));
  const denied = "spec.access of ClusterVaultConnection vault has no entry for the namespace shop";
  for (const offline of [["--offline"], []]) {
    await write("cluster.yaml", ...cluster);
    expect(await plan(...offline)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(denied),
    });
    await write("cluster.yaml", ...cluster, ...byLabel("{ kubernetes.io/metadata.name: store }"));
    expect(await plan(...offline)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(denied),
    });
    await write("cluster.yaml", ...cluster, ...byLabel("{ kubernetes.io/metadata.name: shop }"));
    expect(await plan(...offline)).toMatchObject({ code: 0, stderr: "" });
    await write("cluster.yaml", ...cluster, ...byLabel("{ team: shop }"));
    expect(await plan(...offline)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("add its Namespace to the files"),
    });
    await write(
      "cluster.yaml",
      ...cluster,
      ...byLabel("{ team: shop }"),
      "---",
      ...namespace("store"),
    );
    expect(await plan(...offline)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(denied),
    });
    await write(
      "cluster.yaml",
      ...cluster,
      ...byLabel("{ team: shop }"),
      "---",
      ...namespace("shop"),
    );
    expect(await plan(...offline)).toMatchObject({ code: 0, stderr: "" });
  }
});

const namespace = (team: string): string[] => [
  "apiVersion: v1",
  "kind: Namespace",
  `metadata: { name: shop, labels: { team: ${team} } }`,
];

test("required keys that are missing, and a type that is not allowed, are problems", async () => {
  await write("vault.yaml", ...connection());
  await write(
    "tls.yaml",
    ...secret("tls", "key: shop/db"),
    "  target: { type: kubernetes.io/tls }",
  );
  await write(
    "type.yaml",
    ...secret("type", "key: shop/db"),
    "  target: { type: example.com/token }",
  );
  const { code, stderr } = await plan("--offline");
  expect(code).toBe(3);
  expect(stderr.trimEnd().split("\n")).toEqual([
    "tls.yaml:8: spec.data: a Secret of type kubernetes.io/tls requires the keys tls.crt and tls.key",
    expect.stringMatching(/^type.yaml:8: spec.target.type: this operator allows Opaque/u),
  ]);
  expect((await plan("--allowed-secret-types", "a.b/c, example.com/token")).stderr).not.toContain(
    "type.yaml",
  );
});

const lines = (fields: object): string[] =>
  Object.entries(fields).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`);

/**
 * Returns the exit code and the problems of a VaultSecret with these sources, through a connection
 * with these settings.
 */
async function planned(settings: object, sources: object): Promise<unknown> {
  const own = [...header("VaultSecret", "vault"), "  connectionRef: { name: vault }"];
  await write("all.yaml", ...connection(), ...lines(settings), "---", ...own, ...lines(sources));
  const { code, stderr } = await plan();
  return [code, stderr.trim().replace(/^.*all\.yaml:\d+: /u, "")];
}

const reference = (more: object = {}) => ({
  data: [{ secretKey: "key", remoteRef: { key: "received", ...more } }],
});
const find = { dataFrom: [{ find: { name: { regexp: "^receiv" } } }] };

test("plan reports shared secrets whose owner is not named", async () => {
  const uncreated = "the Secret vault is not created without it";
  const trust = "spec.trustedOwners of the connection";
  const named = `received is shared by ${bob}, whom neither remoteRef.owner nor ${trust} names: to use it, set one of them; ${uncreated}`;
  expect(await planned({}, reference())).toEqual([3, named]);
  const found = `dataFrom[0] finds no entry in the vault's list: what ${bob} shares needs ${trust}; ${uncreated}`;
  expect(await planned({}, find)).toEqual([3, found]);
  expect(await planned({ receive: "Anyone" }, find)).toEqual([3, found]);
  const trusting = { trustedOwners: [bob] };
  expect(await planned(trusting, reference())).toEqual([0, ""]);
  expect(await planned(trusting, find)).toEqual([0, ""]);
  expect(await planned({}, reference({ owner: bob }))).toEqual([0, ""]);
  expect(await planned({ receive: "Anyone" }, reference())).toEqual([0, ""]);
});
