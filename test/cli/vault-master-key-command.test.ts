import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { MasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";

const directory = new TestDirectory();
const ann = "ann@example.com";
const keys = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)] as const;
const [oldKey, newKey] = keys.map((key) => key.toString("base64")) as [string, string];
const ids = keys.map((key) => new MasterKey(new Redacted<Uint8Array>(key)).id) as [string, string];

/** A KMS: prints keys, and counts its runs. */
function command(...printed: readonly string[]): string[] {
  const text = `require("node:fs").appendFileSync(process.argv[1], "."); console.log("${printed.join(",")}")`;
  return [
    "--master-key-command",
    JSON.stringify([process.execPath, "-e", text, directory.join("runs")]),
  ];
}

const runs = async (): Promise<number> => (await readFile(directory.join("runs"), "utf8")).length;

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(["vault", ...args]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout + stderr;
}

test("each command that needs the master key runs --master-key-command once", async () => {
  const data = directory.join("vault.db");
  await writeFile(directory.join("password"), "one-and-only-31");
  await run(
    "user",
    "add",
    ann,
    "--data",
    data,
    "--password-file",
    directory.join("password"),
    ...command(oldKey),
  );
  await using server = await VaultServerProcess.start(["--data", data, ...command(oldKey, newKey)]);
  expect(await runs()).toBe(2);

  const both = command(oldKey, newKey);
  expect(await run("rotate-key", "--data", data, ...both, "--to", ids[1])).toContain(
    `the master key is ${ids[1]}`,
  );
  await server.stop("SIGTERM");
  expect(server.stderr + server.stdout).not.toContain(oldKey);
  const [only, backup] = [command(newKey), directory.join("backup")];
  expect(await run("audit", "verify", `${data}-audit.jsonl`, "--data", data, ...only)).toContain(
    "intact",
  );
  await run("backup", "--data", data, "--to", backup, ...only);
  expect(await run("restore", "--from", backup, "--verify", ...only)).toContain(ids[1]);
  expect(await runs()).toBe(6);
});

test("--master-key-command and other sources of the master key exclude each other", async () => {
  const [data, key] = [directory.join("vault.db"), directory.join("key")];
  await writeFile(key, oldKey);
  const serve = ["vault", "serve", "--data", data, ...command(oldKey)];
  const both = await runInProcess([...serve, "--master-key-file", key]);
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be used with") });
  const file = await runInProcess(serve, { VAULTSYNC_VAULT_MASTER_KEY_FILE: key });
  expect(file).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be used with") });
  const variable = await runInProcess(serve, { VAULTSYNC_VAULT_MASTER_KEY: oldKey });
  expect(variable).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("VAULTSYNC_VAULT_MASTER_KEY"),
  });
  for (const { stdout, stderr } of [both, file, variable])
    expect(stdout + stderr).not.toContain(oldKey);
});

test("rotate-key with --master-key-command needs --to, because it cannot add a key there", async () => {
  const { code, stderr } = await runInProcess([
    "vault",
    "rotate-key",
    "--data",
    "x",
    ...command(oldKey),
  ]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("--to ID") });
});

test("a failing master key command ends the start with its exit code", async () => {
  const failing = JSON.stringify([
    process.execPath,
    "-e",
    `console.error("access denied: ${newKey}"); process.exit(3)`,
  ]);
  const { code, stderr } = await runInProcess([
    "vault",
    "serve",
    "--data",
    directory.join("v.db"),
    "--master-key-command",
    failing,
  ]);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("exit code 3: access denied: …"),
  });
  expect(stderr).not.toContain(newKey);
});
