import { execFileSync } from "node:child_process";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestDirectory } from "../lab/test-directory.ts";
import { VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess, type ProcessResult } from "../lab/real/processes/vaultsync-process.ts";

const ann = "ann@example.com";
const password = "a-password-of-length";
const directory = new TestDirectory();
let data: string;
let log: string;
const running = new Set<VaultServerProcess>();
beforeEach(() => {
  data = directory.join("vault.db");
  log = `${data}-audit.jsonl`;
});
afterEach(async () => {
  for (const server of running) await server.stop("SIGKILL");
  running.clear();
});

const run = (args: readonly string[], input = ""): Promise<ProcessResult> =>
  VaultsyncProcess.run(["vault", ...args], { input });
const audit = (...args: string[]): Promise<ProcessResult> =>
  runInProcess(["vault", "audit", ...args]);

/** Starts a server on the data. */
async function serve(...args: string[]): Promise<VaultServerProcess> {
  const server = await VaultServerProcess.start([
    "--data",
    data,
    "--master-key-file",
    directory.join("key"),
    ...args,
  ]);
  running.add(server);
  return server;
}

async function makeVault(): Promise<void> {
  await run(["key", "generate", directory.join("key")]);
  await run(
    ["user", "add", ann, "--data", data, "--master-key-file", directory.join("key")],
    `${password}\n`,
  );
}

const callerAt = (url: string): Promise<VaultClient> => VaultClient.connect(url, ann, password);

test("after kill -9 under load every response is logged and the chain is intact", async () => {
  await makeVault();
  const answered: VaultResponse[] = [];
  for (let round = 0; round < 3; round += 1) {
    const server = await serve();
    const caller = await callerAt(server.url);
    const write = async (worker: number): Promise<void> => {
      for (let n = 0; ; n += 1) {
        answered.push(
          await caller.call(n % 2 === 0 ? "protect" : "expose", {
            key_name: `k${worker}`,
            key_value: "x",
          }),
        );
      }
    };
    const cutOff = Promise.allSettled(Array.from({ length: 8 }, (_, worker) => write(worker)));
    const enough = answered.length + 40 + round * 37;
    await waitUntil("some responses", () => answered.length > enough);
    await server.stop("SIGKILL");
    await cutOff;
  }
  await (await serve()).stop();
  const lines = (await readFile(log, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const ended = new Map(
    lines.filter(({ phase }) => phase === "end").map((line) => [line.request, line]),
  );
  const begun = new Set(
    lines.filter(({ phase }) => phase === "begin").map(({ request }) => request),
  );
  expect(answered.length).toBeGreaterThan(200);
  for (const response of answered) {
    const id = response.headers["x-request-id"];
    const line = ended.get(id);
    expect(line?.status).toBe(response.status);
    expect(begun.has(id)).toBe(line?.operation === "protect");
  }
  const verified = await audit("verify", log, "--data", data);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringMatching(/^intact\n/u)]);
}, 120_000);

test("verify exits 0, 1 or 2 and finds a truncated log with --data; show selects entries", async () => {
  await makeVault();
  const server = await serve("--audit-log-max-bytes", "65536");
  const caller = await callerAt(server.url);
  for (let n = 0; n < 60; n += 1)
    await caller.call("protect", { key_name: `k${n % 7}`, key_value: "x" });
  await caller.call("expose", { key_name: "k3" }, { authorization: "unknown" });
  const free = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
  const busy = await run([
    "serve",
    "--data",
    data,
    "--master-key-file",
    directory.join("key"),
    ...free,
  ]);
  expect(busy).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("in use by another process"),
  });
  expect((await audit("verify", log, "--data", data)).code).toBe(0);
  await server.stop();

  const verified = await audit("verify", log, "--data", data);
  expect(verified).toMatchObject({ code: 0, stderr: "" });
  expect(verified.stdout).toMatch(/^intact\nlog {6}[0-9a-f]{16}\nentries {2}126, 1 to 126\n/u);
  const notes = async (...args: string[]): Promise<string[]> =>
    (await audit("verify", log, ...args)).stdout.match(/(?<=\nnote {5}).*/gu) ?? [];
  const key = ["--master-key-file", directory.join("key")];
  const [ofKey, ofData] = [
    "not verified whether vault servers wrote the entries: add --master-key-file",
    "not verified whether the last entries are missing: add --data",
  ];
  expect(await notes()).toEqual([ofKey, ofData]);
  expect(await notes("--data", data)).toEqual([ofKey]);
  expect(await notes(...key)).toEqual([ofData]);
  expect(await notes("--data", data, ...key)).toEqual([]);
  const shown = await audit("show", log, "--name", "k3", "--who", "ANN@example.com", "--json");
  expect(shown.stdout.trimEnd().split("\n")).toHaveLength(19);
  const everything = await audit("show", log, "--json");
  expect(everything.stdout, "with the hash that ends each line").toBe(await readFile(log, "utf8"));
  const refused = await audit("show", log, "--operation", "expose", "--since", "2020-01-01");
  expect(refused.stdout).toMatch(
    / end expose - claiming "ann@example.com" from 127\.0\.0\.1 401 invalid_token \{"about":\{"key_name":"k3"\}\}\n$/u,
  );

  await copyFile(log, directory.join("kept"));
  const lines = (await readFile(log, "utf8")).trimEnd().split("\n");
  await writeFile(log, `${lines.slice(0, -3).join("\n")}\n`);
  expect((await audit("verify", log)).code).toBe(0);
  const cut = await audit("verify", log, "--data", data);
  expect(cut).toMatchObject({ code: 1, stdout: expect.stringContaining("DAMAGED (truncated)") });
  // A server that continues the log records the loss permanently.
  await (await serve()).stop();
  const after = await audit("verify", log, "--data", data);
  expect(after).toMatchObject({ code: 1, stdout: expect.stringContaining("DAMAGED (lost)") });

  await copyFile(directory.join("kept"), log);
  await writeFile(log, (await readFile(log, "utf8")).replace("k6", "k5"));
  const altered = await audit("verify", log);
  expect(altered).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^DAMAGED \(altered\): .*, line [0-9]+: /u),
  });
  for (const wrong of [
    ["audit", "verify"],
    ["audit", "verify", directory.join("none")],
    ["audit", "show", log, "--since", "soon"],
  ]) {
    expect(await audit(...wrong)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("error:"),
    });
  }
}, 120_000);

test("the audit log is next to the data file, off with --dev, required with PostgreSQL", async () => {
  const postgres = await run([
    "serve",
    "--data",
    "postgres://vault@127.0.0.1:1/vault",
    "--master-key-file",
    "x",
  ]);
  expect(postgres).toMatchObject({ code: 2, stderr: expect.stringContaining("--audit-log FILE") });
  const small = await run(["serve", "--dev", "--audit-log-max-bytes", "1"]);
  expect(small).toMatchObject({ code: 2, stderr: expect.stringContaining("at least 65536") });
  await makeVault();
  await (await serve("--audit-log", "none")).stop();
  await expect(readFile(log)).rejects.toThrow("ENOENT");
  log = directory.join("elsewhere.jsonl");
  await (await serve("--audit-log", log)).stop();
  expect(execFileSync("stat", ["-c", "%a", log]).toString()).toBe("600\n");
});
