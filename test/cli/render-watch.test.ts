import { readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import { type ProcessOptions, VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { ann, directory, header, run, vault, write } from "./support/plan-repository.ts";

const client = await vault.client(ann);
const store = (key_name: string, key_value: string, more: object = {}): Promise<unknown> =>
  client.call("protect", { key_name, key_value, ...more });

const secret = (name: string, source: string, key = "PASSWORD"): string[] => [
  ...header("VaultSecret", name),
  "  connectionRef: { name: vault }",
  `  data: [{ secretKey: ${key}, remoteRef: { key: ${source} } }]`,
];

const files = (): string => directory.join("files");
const env = (): string => directory.join("app.env");
const text = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

/** Starts `vaultsync render --watch` for the repository. */
function watch(options: ProcessOptions = {}, ...args: string[]): VaultsyncProcess {
  const all = ["--dir", files(), "--env", env(), "--watch", "--interval", "1", ...args];
  const watching = new VaultsyncProcess(["render", "-f", directory.join("repository"), ...all], {
    ...options,
    env: { VAULTSYNC_ACCOUNT: directory.join("account.json"), ...options.env },
  });
  onTestFinished(() => watching[Symbol.asyncDispose]());
  return watching;
}

const soon = { timeout: 30_000, interval: 50 };

test("--watch writes files and variables, replaces both, and ends at SIGTERM with 0", async () => {
  await store("watched-1", "canary-one");
  await write("db.yaml", ...secret("db", "watched-1"));
  const watching = watch();
  await expect.poll(() => text(env()), soon).toBe("PASSWORD='canary-one'\n");
  const first = await readlink(`${files()}/..data`);
  expect(await text(`${files()}/db/PASSWORD`)).toBe("canary-one");
  await store("watched-1", "canary-two");
  await expect.poll(() => text(env()), soon).toBe("PASSWORD='canary-two'\n");
  expect(await text(`${files()}/db/PASSWORD`)).toBe("canary-two");
  expect(await readlink(`${files()}/..data`)).not.toBe(first);
  const modes = [files(), `${files()}/db/PASSWORD`, env()].map(
    async (path) => (await stat(path)).mode,
  );
  expect((await Promise.all(modes)).map((mode) => mode & 0o777)).toEqual([0o700, 0o600, 0o600]);
  process.kill(watching.pid, "SIGTERM");
  const { code, stdout, stderr } = await watching.result;
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toContain("vaultsync: wrote db");
  expect(stderr).not.toContain("canary");
  expect((await readdir(files())).length).toBe(3);
});

test("--watch keeps the files while the vault fails, and reports each failure once", async () => {
  await store("watched-2", "canary-one");
  await write("db.yaml", ...secret("db", "watched-2"));
  await using proxy = await FaultProxy.start({ url: vault.url });
  const account: object = JSON.parse(await readFile(directory.join("account.json"), "utf8"));
  const through = directory.join("through.json");
  await writeFile(through, JSON.stringify({ ...account, url: proxy.url }));
  const watching = watch({}, "--account", through);
  await expect.poll(() => text(env()), soon).toContain("canary-one");
  proxy.inject(({ response }) => void response.writeHead(503).end("{}"));
  await watching.waitForOutput(({ stderr }) => stderr.includes("follow the vault") || undefined);
  const { length } = proxy.requests;
  await expect.poll(() => proxy.requests.length, soon).toBeGreaterThan(length);
  expect(await text(`${files()}/db/PASSWORD`)).toBe("canary-one");
  await proxy.heal();
  await store("watched-2", "canary-two");
  await expect.poll(() => text(env()), soon).toContain("canary-two");
  expect(watching.stderr.match(/follow the vault/gu)).toHaveLength(1);
});

test("--watch starts with the files of an earlier process while the vault fails", async () => {
  await store("watched-3", "canary-one");
  await write("db.yaml", ...secret("db", "watched-3"));
  expect((await run("render", "-f", directory.join("repository"), "--dir", files())).code).toBe(0);
  const account: object = JSON.parse(await readFile(directory.join("account.json"), "utf8"));
  const lost = directory.join("lost.json");
  await writeFile(lost, JSON.stringify({ ...account, url: "http://127.0.0.1:9" }));
  const watching = watch({}, "--account", lost);
  await watching.waitForOutput(({ stderr }) => stderr.includes("no response") || undefined);
  expect(await text(`${files()}/db/PASSWORD`)).toBe("canary-one");
  process.kill(watching.pid, "SIGINT");
  expect((await watching.result).code).toBe(130);
});

test("--watch without earlier files ends as render does: 3 if refused, 1 without a vault", async () => {
  await write("db.yaml", ...secret("db", "watched-absent"));
  expect(await watch().result).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("watched-absent is not in the list"),
  });
  expect(await watch({}, "--account", "/absent").result).toMatchObject({ code: 1 });
  await expect(stat(files())).rejects.toThrow("ENOENT");
});

test("a value that a file of variables cannot have leaves the earlier one in both", async () => {
  await store("watched-4", "canary-one");
  await store("watched-5", "canary-one");
  await write("db.yaml", ...secret("db", "watched-4"));
  await write("web.yaml", ...secret("web", "watched-5", "OTHER"));
  const watching = watch();
  await expect.poll(() => text(env()), soon).toContain("canary-one");
  await store("watched-4", "canary'two");
  await store("watched-5", "canary-two");
  const expected = "PASSWORD='canary-one'\nOTHER='canary-two'\n";
  await expect.poll(() => text(env()), soon).toBe(expected);
  expect(await text(`${files()}/db/PASSWORD`)).toBe("canary-one");
  await watching.waitForOutput(({ stderr }) => stderr.includes("has a single quote") || undefined);
});

test("a carriage return is no content of a file of variables: programs drop it", async () => {
  await store("watched-6", "a\r\nb");
  await write("db.yaml", ...secret("db", "watched-6"));
  const result = await run("render", "-f", directory.join("repository"), "--env", env());
  expect(result).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("the key PASSWORD has a carriage return"),
  });
});

test("a directory without space keeps its files, and nothing else", async () => {
  await store("watched-7", "canary-one");
  await write("db.yaml", ...secret("db", "watched-7"));
  expect((await run("render", "-f", directory.join("repository"), "--dir", files())).code).toBe(0);
  const before = await readdir(files());
  await store("watched-7", "canary-two");
  const full = ["bash", "--norc", "-c", 'ulimit -f 0; exec "$@"', "bash"];
  const watching = watch({ through: full });
  await watching.waitForOutput(({ stderr }) => stderr.includes("EFBIG") || undefined);
  expect(await text(`${files()}/db/PASSWORD`)).toBe("canary-one");
  expect(await readdir(files())).toEqual(before);
  expect(watching.stderr).not.toContain("canary");
});

test("--watch needs a directory, and prints no values", async () => {
  await write("db.yaml", ...secret("db", "shop/db"));
  const repository = directory.join("repository");
  const wrong = [["--env", env()], ["--dir", files(), "--env", "-"], ["--json"], ["--secret"], []];
  for (const args of wrong)
    expect((await run("render", "-f", repository, "--watch", ...args)).code).toBe(2);
});
