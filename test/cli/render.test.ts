import { readdir, readFile, stat } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import {
  VALUE,
  ann,
  bob,
  connection,
  directory,
  header,
  run,
  secret,
  vault,
  write,
} from "./support/plan-repository.ts";

const render = (...args: string[]): ReturnType<typeof run> =>
  run("render", "-f", directory.join("repository"), ...args);

const keys = (name: string, ...pairs: [key: string, source: string][]): string[] => [
  ...header("VaultSecret", name),
  "  connectionRef: { name: vault }",
  "  data:",
  ...pairs.map(([key, source]) => `    - { secretKey: ${key}, remoteRef: { ${source} } }`),
];

const files = [
  ...header("VaultFile", "web"),
  "  connectionRef: { name: vault }",
  "  target: { kind: ConfigMap, name: web-conf }",
  "  files: [{ filename: nginx.conf }]",
];

test("render prints the manifests that the operator would write, also without a connection", async () => {
  await write(
    "db.yaml",
    ...keys("db", ["password", "key: shop/db"]),
    "  target:",
    "    labels: { a: b }",
  );
  await write("web.yaml", ...files);
  const { code, stdout, stderr } = await render("--secret");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const base64 = Buffer.from(`${VALUE}-2`).toString("base64");
  const documents = parseAllDocuments(stdout);
  expect(documents.map((document): unknown => document.toJS())).toEqual([
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "db", namespace: "shop", labels: { a: "b" } },
      type: "Opaque",
      data: { password: base64 },
    },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "web-conf", namespace: "shop" },
      data: { "nginx.conf": VALUE },
    },
  ]);
  expect(JSON.parse((await render("--json")).stdout).targets[0].data).toEqual({
    password: `${VALUE}-2`,
  });
});

test.each([
  ["once", []],
  ["with --watch", ["--watch"]],
])("render %s writes no files if it cannot write variables", async (_, args) => {
  await write("db.yaml", ...keys("db", ["DB_PASSWORD", "key: shop/db"]));
  const out = directory.join("unpublished");
  const { code, stderr } = await render("--dir", out, "--env", directory.path, ...args);
  expect([code, stderr]).toEqual([1, expect.stringContaining("is not a regular file")]);
  await expect(readdir(out)).rejects.toThrow("ENOENT");
});

test("render writes variables and files that only their user can read", async () => {
  await write("db.yaml", ...keys("db", ["DB_PASSWORD", "key: shop/db, version: 1"]));
  await write("web.yaml", ...files);
  const env = directory.join("app.env");
  expect(await render("--env", env)).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await readFile(env, "utf8")).toBe(`DB_PASSWORD='${VALUE}'\n`);
  expect((await stat(env)).mode & 0o777).toBe(0o600);
  expect((await render("--env", "-")).stdout).toBe(`DB_PASSWORD='${VALUE}'\n`);
  const out = directory.join("out");
  expect((await render("--dir", out)).code).toBe(0);
  expect((await stat(out)).mode & 0o777).toBe(0o700);
  const visible = (await readdir(out)).filter((name) => !name.startsWith(".."));
  expect(visible).toEqual(["db", "web-conf"]);
  expect(await readFile(`${out}/web-conf/nginx.conf`, "utf8")).toBe(VALUE);
  expect((await stat(`${out}/db/DB_PASSWORD`)).mode & 0o777).toBe(0o600);
});

test("render refuses what the operator refuses, with its message, and writes nothing", async () => {
  await write("1-vault.yaml", ...connection());
  await write("2-db.yaml", ...keys("db", ["password", "key: shop/db"]));
  await write("3-dv.yaml", ...secret("dv", "key: shop/dv"));
  await write("4-part.yaml", ...keys("part", ["p", "key: shop/db, property: /a"]));
  await write("5-off.yaml", ...keys("off", ["p", "key: shop/db"]), "  suspend: true");
  const first = await render("--json");
  expect(first.code).toBe(3);
  expect(first.stdout).toBe("");
  expect(first.stderr.replaceAll(`${directory.join("repository")}/`, "").split("\n")).toEqual([
    "3-dv.yaml:7: shop/dv is not in the list of ann@example.com: check its name (did you mean shop/db?), its shares and the scope of the connection; the Secret dv is not created without it",
    "5-off.yaml:8: spec.suspend is true: the target is left unchanged",
    "",
  ]);
  await write("3-dv.yaml", "");
  await write("5-off.yaml", "");
  const second = await render("--dir", directory.join("out"));
  expect(second.code).toBe(3);
  expect(second.stderr).toMatch(/4-part\.yaml:\d+: .*shop\/db/u);
  expect(second.stderr).not.toContain(VALUE);
  await expect(stat(directory.join("out"))).rejects.toThrow("ENOENT");
});

test("render refuses a value that does not fit the rules of its key, without the value", async () => {
  await write("1-vault.yaml", ...connection());
  await write("2-db.yaml", ...secret("db", "key: shop/db }, validate: { maxLength: 5"));
  const { code, stdout, stderr } = await render("--json");
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain(
    "version 2 of shop/db does not fit the rule maxLength of the key key-0: expected at most 5 characters",
  );
  expect(stderr).not.toContain(VALUE);
});

test("a received secret needs its owner, as in a cluster", async () => {
  await write("db.yaml", ...keys("db", ["p", "key: received"]));
  const refused = await render("--json");
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain(`received is shared by ${bob}`);
  await write("db.yaml", ...keys("db", ["p", `key: received, owner: ${bob}`]));
  expect(JSON.parse((await render("--json")).stdout).targets[0].data).toEqual({ p: VALUE });
});

test("another account reads what the connection's account shares with it, as its own secrets", async () => {
  const client = await vault.client(bob);
  await client.call("protect", { key_name: "both", key_value: "canary-of-bob" });
  const share = { usr_id_from: bob, usr_id_to: ann, permission: "R" };
  await client.call("share", { key_name: "both", ...share });
  await write("1.yaml", ...connection().map((line) => line.replace(ann, bob)));
  await write("2.yaml", ...keys("db", ["p", "key: both"]));
  expect(JSON.parse((await render("--json")).stdout).targets[0].data).toEqual({
    p: "canary-of-bob",
  });
  await write("3.yaml", ...files);
  const { code, stderr } = await render("--json");
  expect(code).toBe(3);
  expect(stderr).toContain(`log in to ${vault.url} as ${bob}, as the VaultConnection vault says`);
});

test("values are printed to a terminal only with --show, and one output is required", async () => {
  await write("db.yaml", ...keys("db", ["p", "key: shop/db"]));
  const { isTTY } = process.stdout;
  onTestFinished(() => void Object.assign(process.stdout, { isTTY }));
  Object.assign(process.stdout, { isTTY: true });
  for (const form of [["--secret"], ["--json"], ["--env", "-"]]) {
    expect((await render(...form)).code).toBe(2);
    expect((await render(...form, "--show")).stdout).toContain("p");
  }
  expect((await render()).code).toBe(2);
  expect((await render("--json", "--secret")).code).toBe(2);
});

test("a key that is no name of a variable is named, with a remedy", async () => {
  await write("1.yaml", ...keys("one", ["tls.crt", "key: shop/db"], ["same", "key: shop/db"]));
  await write("2.yaml", ...keys("two", ["same", "key: shop/db"]));
  const { code, stderr } = await render("--env", "-");
  expect(code).toBe(3);
  expect(stderr).toContain(
    "the key tls.crt is not a valid name of an environment variable, of letters, digits and '_': rename it, for example to TLS_CRT",
  );
  expect(stderr).toContain("the key same has the name of one of the resource at");
});

test("a vault that does not respond, a login that is missing and an unreadable file fail with 1", async () => {
  const lost = await run("render", "-f", "/absent.yaml", "--json");
  expect(lost).toMatchObject({ code: 1, stderr: expect.stringContaining("/absent.yaml") });
  await write("db.yaml", ...keys("db", ["p", "key: shop/db"]));
  const file = directory.join("account.json");
  const account: { url: string } = JSON.parse(await readFile(file, "utf8"));
  const path = directory.join("other.json");
  await write("../other.json", JSON.stringify({ ...account, url: "http://127.0.0.1:9" }));
  expect(await render("--json", "--account", path)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no response from 127.0.0.1:9"),
  });
  expect(await render("--json", "--account", "/absent.json")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("run vaultsync login"),
  });
});
