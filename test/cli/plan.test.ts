import { expect, test } from "vitest";
import {
  VALUE,
  ann,
  bob,
  connection,
  directory,
  header,
  plan,
  run,
  secret,
  write,
} from "./support/plan-repository.ts";

test("a correct repository is printed with the versions that would be written, without values", async () => {
  await write("vault.yaml", ...connection(), `  trustedOwners: [${bob}]`);
  await write(
    "apps/db.yaml",
    ...secret("db", "key: shop/db", "key: shop/db, version: 1", "key: received"),
  );
  await write(
    "apps/web.yaml",
    ...header("VaultFile", "web"),
    "  connectionRef: { name: vault }",
    "  target: { kind: ConfigMap, name: web-conf }",
    "  files: [{ filename: nginx.conf }]",
  );
  await write("apps/other.yaml", "apiVersion: apps/v1", "kind: Deployment", "---", "- a list");
  await write("apps/.hidden/broken.yaml", "a: [");
  const { code, stdout, stderr } = await plan();
  expect(code).toBe(0);
  expect(stderr).toBe("");
  expect(stdout.split("\n").map((line) => line.split(/ {2,}/u))).toEqual([
    ["NAMESPACE", "RESOURCE", "TARGET", "KEY", "SOURCE", "VERSION"],
    ["shop", "vaultsecret/db", "Secret/db", "key-0", "shop/db", "2"],
    ["shop", "vaultsecret/db", "Secret/db", "key-1", "shop/db", "1"],
    ["shop", "vaultsecret/db", "Secret/db", "key-2", "received", "1"],
    ["shop", "vaultfile/web", "ConfigMap/web-conf", "nginx.conf", "nginx.conf", "1"],
    [""],
  ]);
  expect(stdout).not.toContain(VALUE);
  const json = JSON.parse((await plan("-o", "json")).stdout);
  expect(json.problems).toEqual([]);
  expect(json.keys[1]).toEqual({
    resource: "vaultsecret/db",
    namespace: "shop",
    target: "Secret/db",
    key: "key-1",
    source: "shop/db",
    version: 1,
  });
});

test("each mistake of a repository is named with its file and line, and the exit code is 3", async () => {
  await write("1-vault.yaml", ...connection());
  await write(
    "2-missing.yaml",
    ...secret("missing", "key: shop/db", "key: shop/dv", "key: shop/db, version: 7"),
  );
  await write(
    "3-typo.yaml",
    ...secret("typo", "key: shop/db"),
    "  refreshIntervall: 5m",
    "  suspend: maybe",
  );
  await write(
    "4-target.yaml",
    ...secret("one", "key: shop/db"),
    "---",
    ...secret("two", "key: shop/db"),
    "  target: { name: one }",
  );
  await write(
    "5-connection.yaml",
    ...secret("lost", "key: shop/db").map((line) => line.replace("name: vault }", "name: vlt }")),
  );
  await write("6-syntax.yaml", "apiVersion: vaultsync.dev/v1alpha1", "kind: [");
  await write("7-kind.yaml", ...header("VaultSecrets", "kind"));
  await write(
    "8-file.yaml",
    ...header("VaultFile", "f"),
    "  connectionRef: { name: vault }",
    "  target: { kind: Secret }",
  );
  await write(
    "9-file.yaml",
    ...header("VaultFile", "g"),
    "  connectionRef: { name: vault }",
    "  target: { kind: Secret }",
    "  files:",
  );
  await write(
    "9-file.yaml",
    ...header("VaultFile", "g"),
    "  connectionRef: { name: vault }",
    "  target: { kind: Secret }",
    "  files:",
    "    - filename: absent.conf",
    "    - { filename: nginx.conf, version: 2 }",
  );
  const { code, stderr } = await plan();
  expect(code).toBe(3);
  expect(stderr.trimEnd().split("\n")).toEqual([
    "2-missing.yaml:8: shop/dv is not in the list of ann@example.com: check its name (did you mean shop/db?), its shares and the scope of the connection; the Secret missing is not created without it",
    "2-missing.yaml:9: shop/db has no version 7, the latest is 2: set version to an existing version or to latest",
    "3-typo.yaml:8: spec.refreshIntervall: unknown field (did you mean refreshInterval?)",
    expect.stringMatching(/^3-typo\.yaml:9: spec\.suspend: /u),
    "4-target.yaml:16: spec.target.name: the resource at 4-target.yaml:3 has this target: choose another name",
    "5-connection.yaml:5: spec.connectionRef.name: no VaultConnection vlt in namespace shop in these files",
    expect.stringMatching(/^6-syntax\.yaml:3: /u),
    "7-kind.yaml:2: kind: VaultSecrets is not a kind of vaultsync.dev",
    expect.stringMatching(
      /^8-file\.yaml:5: spec: spec\.files or spec\.filesFrom must have at least one entry/u,
    ),
    "9-file.yaml:8: absent.conf is not in the list of ann@example.com: check its name, its shares and the scope of the connection; the Secret g is not created without it",
    "9-file.yaml:9: nginx.conf has no version 2, the latest is 1: set version to an existing version or to latest",
  ]);
});

test("a reference to an owner who shares no such secret names that owner, as the operator does", async () => {
  await write("1.yaml", ...connection());
  await write("2.yaml", ...secret("db", "key: received, owner: cid@example.com"));
  expect((await plan()).stderr).toContain(
    "2.yaml:7: received of cid@example.com is not in the list of ann@example.com: check its name",
  );
});

test("a template that does not parse, and a name that no source has, are problems", async () => {
  await write("vault.yaml", ...connection());
  const template = [
    "  target:",
    "    template:",
    "      data:",
    "        good: \"{{ vars['key-0'] | upper }}\"",
    '        bad: "{{ key-1 }}"',
    "        worse: |",
    "          first",
    "          {{ vars['key-0'] | upper",
  ];
  await write("db.yaml", ...secret("db", "key: shop/db"), ...template);
  const { code, stdout, stderr } = await plan();
  expect(code).toBe(3);
  expect(stderr.trimEnd().split("\n")).toEqual([
    "db.yaml:12: spec.target.template.data[bad]: the variable key-1 does not exist",
    expect.stringMatching(
      /^db\.yaml:13: spec\.target\.template\.data\[worse\], line 2, column 1: output "\{\{ vars.* not closed/u,
    ),
  ]);
  expect(stdout).toContain("{{ key-0 }}");
});

const rules = (name: string, ...dataFrom: string[]): string[] => [
  ...header("VaultSecret", name),
  "  connectionRef: { name: vault }",
  "  dataFrom:",
  ...dataFrom.map((rule) => `    - ${rule}`),
];

test("sources that are found by rules are printed with the keys that they would have", async () => {
  await write("1-vault.yaml", ...connection());
  const slash = "rewrite: [{ regexp: { source: /, target: . } }]";
  await write(
    "2-found.yaml",
    ...rules(
      "found",
      `{ find: { name: { regexp: ^shop/ } }, ${slash} }`,
      "extract: { key: shop/db }",
    ),
  );
  await write(
    "3-optional.yaml",
    ...secret("optional"),
    "    - { secretKey: key-0, optional: true, remoteRef: { key: absent } }",
  );
  const offline = await plan("--offline");
  expect(offline.stdout).toMatch(/dataFrom\[0\] +\^shop\/ +-/u);
  const { code, stdout, stderr } = await plan();
  expect(code).toBe(0);
  expect(stderr).toBe("");
  expect(stdout.split("\n").map((line) => line.split(/ {2,}/u).slice(3))).toEqual([
    ["KEY", "SOURCE", "VERSION"],
    ["dataFrom[1]", "shop/db", "2"],
    ["shop.db", "shop/db", "2"],
    ["key-0", "absent", "-"],
    [],
  ]);
  await write(
    "4-wrong.yaml",
    ...rules(
      "wrong",
      "find: { name: { regexp: ^none } }",
      "find: { name: { regexp: ^shop/ } }",
      "find: { name: { regexp: a( } }",
    ),
  );
  expect((await plan()).stderr.split("\n")).toEqual([
    "4-wrong.yaml:9: spec.dataFrom[2].find.name.regexp: missing closing ) at position 2: must be a regular expression in the syntax of RE2, for example ^shop-(.*)$",
    "",
  ]);
  await write(
    "4-wrong.yaml",
    ...rules("wrong", "find: { name: { regexp: ^none } }", "find: { name: { regexp: ^shop/ } }"),
  );
  expect((await plan()).stderr.split("\n")).toEqual([
    "4-wrong.yaml:7: dataFrom[0] finds no entry in the vault's list: check find, the shares and the scope of the connection; the Secret wrong is not created without it",
    `4-wrong.yaml:8: dataFrom[1] finds "shop/db", which is not a valid key of letters, digits, '-', '_' and '.': set rewrite; it is skipped`,
    "",
  ]);
});

test("a field that the API does not know is a problem", async () => {
  await write("vault.yaml", ...connection());
  await write("typo.yaml", ...secret("typo", "key: shop/db, verison: 1"), "  refreshIntervall: 5m");
  expect((await plan("--offline")).stderr.split("\n")).toEqual([
    "typo.yaml:7: spec.data[0].remoteRef.verison: unknown field (did you mean version?)",
    "typo.yaml:8: spec.refreshIntervall: unknown field (did you mean refreshInterval?)",
    "",
  ]);
});

test("references of another vault are not checked, and the output says so", async () => {
  await write("vault.yaml", ...connection("https://other.example.com"));
  await write("db.yaml", ...secret("db", "key: absent"));
  const { code, stderr } = await plan();
  expect(code).toBe(0);
  expect(stderr).toEqual(
    `references of VaultConnection shop/vault are not checked: log in to https://other.example.com as ${ann}\n`,
  );
});

test("a directory without manifests, and one that does not exist, are failures", async () => {
  await write("other.yaml", "kind: Deployment");
  expect(await plan()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no vaultsync.dev objects in"),
  });
  expect(await run("plan", "-f", directory.join("absent"))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("does not exist: give files, directories, or -"),
  });
});

const push = (name: string, from: string, ...entries: string[]): string[] => [
  ...header("VaultPush", name),
  "  connectionRef: { name: vault }",
  `  secret: { name: ${from} }`,
  "  data:",
  ...entries.map((entry) => `    - { secretKey: password, ${entry} }`),
];

test("pushes are printed with the entry that they write, and their conflicts and loops are named", async () => {
  await write("1-vault.yaml", ...connection());
  await write(
    "2-push.yaml",
    ...push("one", "source", "remoteRef: { key: new }", "file: { filename: new.txt }"),
  );
  const correct = await plan("--offline");
  expect(correct.code).toBe(0);
  expect(correct.stderr).toBe("");
  expect(correct.stdout.split("\n").map((line) => line.split(/ {2,}/u))).toEqual([
    ["NAMESPACE", "RESOURCE", "TARGET", "KEY", "SOURCE", "VERSION"],
    ["shop", "vaultpush/one", "vault secret/new", "password", "Secret/source", "-"],
    ["shop", "vaultpush/one", "vault file/new.txt", "password", "Secret/source", "-"],
    [""],
  ]);
  await write("3-push.yaml", ...push("two", "other", "file: { filename: new.txt }"));
  await write("4-push.yaml", ...push("three", "db", "remoteRef: { key: shop/db }"));
  await write("5-secret.yaml", ...secret("db", "key: shop/db"));
  await write("7-push.yaml", ...push("five", "found", "remoteRef: { key: web-1 }"));
  await write(
    "8-find.yaml",
    ...secret("found").slice(0, -1),
    "  dataFrom: [{ find: { name: { regexp: ^web- } } }]",
  );
  await write("6-push.yaml", ...push("four", "x", "remoteRef: { key: a }, file: { filename: b }"));
  const { code, stderr } = await plan("--offline");
  expect(code).toBe(3);
  expect(stderr.trimEnd().split("\n")).toEqual([
    "3-push.yaml:8: the VaultPush at 2-push.yaml:3 pushes to this entry: choose another one",
    "4-push.yaml:8: the resource at 5-secret.yaml:3 reads secret/shop/db into the Secret db, which is pushed to it",
    expect.stringMatching(/^6-push\.yaml:8: spec\.data\[0\]: exactly one of remoteRef and file/u),
    "7-push.yaml:8: the resource at 8-find.yaml:3 reads secret/web-1 into the Secret found, which is pushed to it",
  ]);
});

test("rules for a value are accepted without reading it, and an invalid pattern is a problem", async () => {
  await write("1.yaml", ...connection());
  await write("2.yaml", ...secret("db", "key: shop/db }, validate: { format: Integer"));
  expect((await plan()).code).toBe(0);
  await write("2.yaml", ...secret("db", "key: shop/db }, validate: { pattern: '('"));
  const { code, stderr } = await plan();
  expect(code).toBe(3);
  expect(stderr).toMatch(/^2\.yaml:\d+: spec\.data\[0\]\.validate\.pattern: missing closing \)/u);
});

test("--validate checks the values by the rules of the spec, and prints none", async () => {
  await write("1-vault.yaml", ...connection());
  await write("2-db.yaml", ...secret("db", "key: shop/db }, validate: { maxLength: 5"));
  expect((await plan()).code).toBe(0);
  const { code, stdout, stderr } = await plan("--validate");
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /^2-db\.yaml:\d+: version 2 of shop\/db does not fit the rule maxLength of the key key-0: expected at most 5 characters\n$/u,
  );
  expect(stdout + stderr).not.toContain(VALUE);
  await write("2-db.yaml", ...secret("db", "key: shop/db }, validate: { minLength: 5"));
  expect(await plan("--validate")).toMatchObject({ code: 0, stderr: "" });
  expect((await plan("--validate", "--offline")).code).toBe(2);
});
