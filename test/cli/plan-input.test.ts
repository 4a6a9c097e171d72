import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import {
  connection,
  directory,
  header,
  plan,
  run,
  secret,
  write,
} from "./support/plan-repository.ts";

/** `vaultsync plan` behind `kustomize` and `helm`, and manifests that the API server would reject. */

const rendered = [...connection(), "---", ...secret("db", "key: shop/db, verison: 1")];

test("plan reads the manifests of a pipe from standard input", async () => {
  const { code, stderr } = await VaultsyncProcess.run(["plan", "--offline", "-f", "-"], {
    input: rendered.join("\n"),
  });
  expect([code, stderr]).toEqual([
    3,
    "stdin:15: spec.data[0].remoteRef.verison: unknown field (did you mean version?)\n",
  ]);
});

test("plan reads a FIFO, such as a process substitution, and /dev/stdin", async () => {
  await writeFile(directory.join("rendered"), rendered.join("\n"));
  const main = join(import.meta.dirname, "../../src/main.ts");
  const outputs = ["<(cat)", "/dev/stdin"].map((path) =>
    promisify(execFile)("bash", [
      "--norc",
      "-c",
      `cat "$1" | "$2" "$3" plan --offline -f ${path}`,
      "bash",
      directory.join("rendered"),
      process.execPath,
      main,
    ]).catch((error: unknown) => error),
  );
  for (const output of await Promise.all(outputs))
    expect(output).toMatchObject({ code: 3, stderr: expect.stringContaining("unknown field") });
});

test("plan checks the objects of a List, at their lines", async () => {
  await write(
    "list.yaml",
    "apiVersion: v1",
    "kind: List",
    "items:",
    "  - apiVersion: vaultsync.dev/v1alpha1",
    "    kind: VaultSecret",
    "    metadata: { name: db, namespace: shop }",
    "    spec:",
    "      connectionRef: { name: vault }",
    "      data: [{ secretKey: key, remoteRef: { kye: shop/db } }]",
  );
  await write(
    "typed.json",
    JSON.stringify({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultConnectionList",
      items: [{ apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultConnection", metadata: {} }],
    }),
  );
  const { code, stderr } = await plan("--offline");
  expect([code, stderr.trimEnd().split("\n")]).toEqual([
    3,
    [
      "list.yaml:9: spec.data[0].remoteRef.key: is required",
      "list.yaml:9: spec.data[0].remoteRef.kye: unknown field",
      "typed.json:1: metadata.name: is required",
      "typed.json:1: spec: is required",
    ],
  ]);
});

test("a version that does not exist, and names that the API server rejects, are problems", async () => {
  await write("1-vault.yaml", ...connection().map((line) => line.replace("v1alpha1", "v1")));
  await write("2-db.yaml", ...secret("App_17", "key: shop/db"));
  await write(
    "3-api.yaml",
    ...secret("api", "key: shop/db").map((line) =>
      line.replace("shop }", "Shop!, labels: { on: true }, annotations: { n: 1 } }"),
    ),
    "status: {}",
    "data: {}",
  );
  const { code, stderr } = await plan("--offline");
  expect([code, stderr.trimEnd().split("\n")]).toEqual([
    3,
    [
      "1-vault.yaml:1: apiVersion: vaultsync.dev/v1 does not exist: write vaultsync.dev/v1alpha1",
      "2-db.yaml:3: metadata.name: must consist of lower-case letters, digits, '-' and '.'",
      "3-api.yaml:3: metadata.namespace: must consist of lower-case letters, digits and '-'",
      "3-api.yaml:3: metadata.labels.on: must be a string: write it in quotes",
      "3-api.yaml:3: metadata.annotations.n: must be a string: write it in quotes",
      "3-api.yaml:5: spec.connectionRef.name: no VaultConnection vault in namespace Shop! in these files",
      "3-api.yaml:9: data: unknown field",
    ],
  ]);
});

const unplaced = (line: string): string => line.replace("namespace: shop", 'namespace: ""');

test("an empty namespace is the default one, as for the API server", async () => {
  await write("1-vault.yaml", ...connection().map(unplaced));
  await write("2-db.yaml", ...secret("db", "key: shop/db").map(unplaced));
  const { code, stdout, stderr } = await plan("--offline", "-n", "shop");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^shop +vaultsecret\/db /mu);
});

test("a field that is missing does not hide one that is unknown", async () => {
  await write("1-vault.yaml", ...connection());
  await write(
    "2-db.yaml",
    ...secret("db", "key: shop/db").map((line) => line.replace("remoteRef", "remoteReff")),
    "---",
    ...header("VaultSecret", "empty").slice(0, -1),
  );
  expect((await plan("--offline")).stderr.trimEnd().split("\n")).toEqual([
    "2-db.yaml:7: spec.data[0].remoteRef: is required",
    "2-db.yaml:7: spec.data[0].remoteReff: unknown field (did you mean remoteRef?)",
    "2-db.yaml:9: spec: is required",
  ]);
});

test("a connection that is invalid is not reported as missing as well", async () => {
  await write("1-vault.yaml", ...connection("no-url"));
  await write("2-db.yaml", ...secret("db", "key: shop/db"));
  const { stderr } = await plan("--offline");
  expect(stderr.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/^1-vault\.yaml:5: spec\.url: /u),
  ]);
});

const plain = (kind: string, ...metadata: string[]): string[] => [
  "apiVersion: v1",
  `kind: ${kind}`,
  `metadata: { name: db, namespace: shop${metadata.join("")} }`,
];

test("an object of the repository with the name of a target is a problem", async () => {
  await write("1-vault.yaml", ...connection());
  await write("2-db.yaml", ...secret("db", "key: shop/db"));
  await write("3-plain.yaml", ...plain("Secret"), "stringData: { key-0: canary-value }");
  const { code, stdout, stderr } = await plan("--offline", "-o", "json");
  const { problems } = JSON.parse(stdout);
  expect([code, stderr, problems]).toEqual([
    3,
    "",
    [
      {
        file: expect.stringMatching(/2-db\.yaml$/u),
        line: 5,
        message: expect.stringMatching(
          /^spec\.target\.name: the Secret at .*3-plain\.yaml:3 has the name of the target: /u,
        ),
      },
    ],
  ]);
  expect(stdout).not.toContain("canary-value");
  await write("3-plain.yaml", ...plain("ConfigMap"));
  expect(await plan("--offline")).toMatchObject({ code: 0, stderr: "" });
  const adopt = ", annotations: { vaultsync.dev/adopt: VaultSecret/db }";
  await write("3-plain.yaml", ...plain("Secret", adopt));
  expect(await plan("--offline")).toMatchObject({ code: 0, stderr: "" });
  await write("2-db.yaml", ...secret("db", "key: shop/db"), "  target: { creationPolicy: Merge }");
  await write("3-plain.yaml", ...plain("Secret"));
  expect(await plan("--offline")).toMatchObject({ code: 0, stderr: "" });
});

test("paths that cannot be read, and templates, are reported in words", async () => {
  await write("chart.yaml", ...secret("db", "key: {{ .Values.key }}"), "{{- if .Values.more }}");
  const { code, stderr } = await plan("--offline");
  expect([code, stderr]).toEqual([
    3,
    "chart.yaml:8: a template is not a manifest: render it first, for example helm template CHART | vaultsync plan -f -\n",
  ]);
  const absent = directory.join("absent");
  expect((await run("plan", "-f", absent)).stderr).toBe(
    `vaultsync: ${absent} does not exist: give files, directories, or - for standard input\n`,
  );
  expect((await run("plan", "-f", "https://example.com/a.yaml")).stderr).toBe(
    "vaultsync: https://example.com/a.yaml is a URL: pipe it, for example curl -fsSL https://example.com/a.yaml | vaultsync plan -f -\n",
  );
});
