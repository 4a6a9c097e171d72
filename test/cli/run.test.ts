import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { memory, start } from "./support/local-repository.ts";
import {
  VALUE,
  ann,
  connection,
  directory,
  header,
  vault,
  write,
} from "./support/plan-repository.ts";

const secretOf = (key: string, source: string): string[] => [
  ...header("VaultSecret", "db"),
  "  connectionRef: { name: vault }",
  `  data: [{ secretKey: ${key}, remoteRef: { key: ${source} } }]`,
];

const fileOf = (kind: string): string[] => [
  ...header("VaultFile", "web"),
  "  connectionRef: { name: vault }",
  `  target: { kind: ${kind}, name: web-conf }`,
  "  files: [{ filename: nginx.conf }]",
];

const node = (script: string): string[] => ["--", process.execPath, "-e", script];

const MAIN = join(import.meta.dirname, "../../src/main.ts");

/** Returns the directories in memory that runs have. */
const leftovers = (): Promise<string[]> => readdir(memory);

test("run gives a command variables and files, and leaves neither", async () => {
  await write("vault.yaml", ...connection());
  await write("db.yaml", ...secretOf("DB_PASSWORD", "shop/db"));
  await write("web.yaml", ...fileOf("Secret"));
  const before = await leftovers();
  const script = `
    const { VAULTSYNC_FILES: path, DB_PASSWORD: password } = process.env;
    const fs = require("fs");
    const file = path + "/web-conf/nginx.conf";
    const mode = (of) => (fs.statSync(of).mode & 0o777).toString(8);
    console.log(JSON.stringify({ password, file: fs.readFileSync(file, "utf8"), path,
      modes: [mode(path), mode(file)], parent: fs.readFileSync("/proc/" + process.ppid + "/cmdline", "latin1"),
      environment: fs.readFileSync("/proc/" + process.ppid + "/environ", "latin1") }));
    process.exit(7)`;
  const { code, stdout, stderr } = await start(node(script)).result;
  expect({ code, stderr }).toEqual({ code: 7, stderr: "" });
  const seen = JSON.parse(stdout);
  expect(seen).toMatchObject({ password: `${VALUE}-2`, file: VALUE, modes: ["700", "600"] });
  expect(dirname(seen.path)).toBe(memory);
  expect(seen.parent + seen.environment).not.toContain(VALUE);
  await expect(stat(seen.path)).rejects.toThrow("ENOENT");
  expect(await leftovers()).toEqual(before);
});

test("run ends with the exit codes of a shell: 126, 127, and the signal of the command", async () => {
  await write("db.yaml", ...secretOf("P", "shop/db"));
  const plain = directory.join("plain");
  await writeFile(plain, "text");
  await chmod(plain, 0o600);
  const missing = await start(["--", "/absent/command"]).result;
  expect(missing).toMatchObject({ code: 127, stderr: expect.stringContaining("not found") });
  const text = await start(["--", plain]).result;
  expect(text).toMatchObject({ code: 126, stderr: expect.stringContaining("cannot be executed") });
  // The process ends by the signal that ended the command.
  expect((await start(["--", "sh", "-c", "kill -9 $$"]).result).code).toBe(null);
  expect((await start([]).result).code).toBe(2);
  await write("db.yaml", ...secretOf("P", "shop/dv"));
  const refused = await start(["--", "true"]).result;
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("shop/dv is not in") });
  const unread = await start(["--account", "/absent", "--", "true"]).result;
  expect(unread).toMatchObject({ code: 1, stderr: expect.stringContaining("vaultsync login") });
});

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "%s reaches the command, whose exit code counts, and its files are removed",
  async (signal) => {
    await write("web.yaml", ...fileOf("ConfigMap"));
    const script = `process.on("${signal}", () => process.exit(9)); setInterval(() => 0, 1e6);
      console.log(process.env.VAULTSYNC_FILES)`;
    const running = start(node(script));
    const path = await running.waitForOutput(({ stdout }) => /^(.+)\n/u.exec(stdout)?.[1]);
    process.kill(running.pid, signal);
    expect((await running.result).code).toBe(9);
    await expect(stat(path)).rejects.toThrow("ENOENT");
  },
);

test.each([
  ["SIGTERM", "1000"],
  // The command that was started continues.
  ["SIGKILL", "1"],
] as const)("%s while the values are read leaves nothing", async (signal, seconds) => {
  await write("web.yaml", ...fileOf("ConfigMap"));
  const before = await leftovers();
  for (const delay of [0, 60, 120, 180, 240, 300, 400]) {
    const running = start(["--", "sleep", seconds]);
    await new Promise((resolve) => setTimeout(resolve, delay));
    process.kill(running.pid, signal);
    expect((await running.result).code).not.toBe(0);
  }
  await expect.poll(leftovers).toEqual(before);
});

test("files do not need a shell", async () => {
  await write("web.yaml", ...fileOf("ConfigMap"));
  const words = node(`console.log(process.env.VAULTSYNC_FILES)`);
  const { code, stdout } = await start(words, { env: { PATH: "/absent" } }).result;
  expect(code).toBe(0);
  await expect(stat(stdout.trim())).rejects.toThrow("ENOENT");
});

test("a directory without space ends the run before the command, and leaves nothing", async () => {
  await write("web.yaml", ...fileOf("ConfigMap"));
  const full = ["bash", "--norc", "-c", 'ulimit -f 0; exec "$@"', "bash"];
  const { code, stdout, stderr } = await start(["--", "echo", "started"], { through: full }).result;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("EFBIG");
  expect(stderr).not.toContain(VALUE);
  expect(await leftovers()).toEqual([]);
});

test("the files of a run that was killed are there until its command ends, and then gone", async () => {
  await write("web.yaml", ...fileOf("ConfigMap"));
  const running = start(
    node(`console.log(process.env.VAULTSYNC_FILES, process.pid);
    setInterval(() => 0, 1e6)`),
  );
  const [path = "", pid = ""] =
    (await running.waitForOutput(({ stdout }) => /^(.+)\n/u.exec(stdout)?.[1]))?.split(" ") ?? [];
  process.kill(running.pid, "SIGKILL");
  await expect.poll(() => running.exited).toBe(true);
  expect((await stat(path)).isDirectory()).toBe(true);
  process.kill(Number(pid), "SIGKILL");
  await expect.poll(() => stat(path).catch((error: Error) => error.message)).toContain("ENOENT");
});

test("--mask replaces values in both outputs, also in base64 and in several writes", async () => {
  await write("db.yaml", ...secretOf("P", "shop/db"));
  await write("web.yaml", ...fileOf("Secret"));
  const script = `const p = process.env.P; const half = p.length >> 1;
    process.stdout.write("a " + p.slice(0, half));
    setTimeout(() => {
      process.stdout.write(p.slice(half) + " b\\n");
      console.error("error", Buffer.from("user:" + p).toString("base64"), encodeURIComponent(p));
      process.exitCode = 5;
    }, 30)`;
  const { code, stdout, stderr } = await start(["--mask", ...node(script)]).result;
  expect({ code, stdout }).toEqual({ code: 5, stdout: "a *** b\n" });
  expect(stderr).toMatch(/^error \S{0,8}\*\*\*\S{0,3} \*\*\*\n$/u);
});

test("--watch restarts the command on a new version, and keeps its values otherwise", async () => {
  const client = await vault.client(ann);
  await client.call("protect", { key_name: "watched", key_value: "canary-one" });
  await write("db.yaml", ...secretOf("P", "watched"));
  const running = start([
    "--watch",
    "--interval",
    "1",
    ...node(`console.log("start", process.env.P); process.on("SIGTERM", () => process.exit(0));
      setInterval(() => 0, 1e6)`),
  ]);
  await running.waitForOutput(({ stdout }) => stdout.includes("canary-one") || undefined);
  await client.call("protect", { key_name: "watched", key_value: "canary-two" });
  await running.waitForOutput(({ stdout }) => stdout.includes("canary-two") || undefined);
  await client.call("delete", { key_name: ["watched"] });
  await running.waitForOutput(
    ({ stderr }) => stderr.includes("keeps its values: watched is not in") || undefined,
  );
  process.kill(running.pid, "SIGTERM");
  const { code, stdout, stderr } = await running.result;
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toEqual(["start canary-one", "start canary-two"]);
  expect(stderr).not.toContain("canary");
});

test("--watch writes the files of a new version before the command starts again", async () => {
  const client = await vault.client(ann);
  await client.upload([{ filename: "watched.conf", bytes: Buffer.from("canary-one") }]);
  await write("web.yaml", ...fileOf("ConfigMap").map((line) => line.replace("nginx", "watched")));
  const script = `const path = process.env.VAULTSYNC_FILES + "/web-conf/watched.conf";
    console.log(require("fs").readFileSync(path, "utf8"));
    process.on("SIGTERM", () => 0); setInterval(() => 0, 1e6)`;
  const running = start(["--watch", "--interval", "1", "--grace", "0", ...node(script)]);
  await running.waitForOutput(({ stdout }) => stdout.includes("canary-one") || undefined);
  await client.upload([{ filename: "watched.conf", bytes: Buffer.from("canary-two") }]);
  await running.waitForOutput(({ stdout }) => stdout.includes("canary-two") || undefined);
  const path = await leftovers();
  process.kill(running.pid, "SIGHUP");
  expect((await running.result).code).toBe(null);
  for (const name of path) await expect(stat(join(memory, name))).rejects.toThrow("ENOENT");
});

test("a terminal is the command's, and Ctrl-C reaches it once", async () => {
  await write("db.yaml", ...secretOf("P", "shop/db"));
  const script = `process.on("SIGINT", () => { console.log("interrupted"); setTimeout(() => process.exit(4), 200) });
    console.log("terminal " + process.stdin.isTTY + " " + process.stdout.isTTY); setInterval(() => 0, 1e6)`;
  const file = directory.join("command.js");
  await writeFile(file, script);
  const line = [
    process.execPath,
    MAIN,
    "run",
    "-f",
    directory.join("repository"),
    "--",
    process.execPath,
    file,
  ];
  const python = `import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
output = b""
sent = False
while True:
    try: part = os.read(terminal, 1024)
    except OSError: break
    if not part: break
    output += part
    if b"terminal" in output and b"\\n" in output and not sent:
        sent = True
        os.write(terminal, b"\\x03")
print(output.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
  const { stdout } = await promisify(execFile)("python3", ["-c", python, ...line], {
    env: { ...process.env, VAULTSYNC_ACCOUNT: directory.join("account.json") },
  });
  expect(stdout).toContain("terminal true true");
  expect(stdout.match(/interrupted/gu)).toEqual(["interrupted"]);
  expect(stdout.trimEnd().endsWith(" 4")).toBe(true);
});

test("the vault names no variable that changes which code programs run", async () => {
  const client = await vault.client(ann);
  const key_value = JSON.stringify({ NODE_OPTIONS: "canary", OTHER: "canary" });
  await client.call("protect", { key_name: "object", key_value });
  const extract = [
    ...header("VaultSecret", "db"),
    "  connectionRef: { name: vault }",
    "  dataFrom: [{ extract: { key: object } }]",
  ];
  await write("db.yaml", ...extract);
  const refused = await start(["--", "true"]).result;
  expect(refused).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("a member of object would set a variable that changes"),
  });
  expect(refused.stderr).not.toContain("NODE_OPTIONS");
  const named = "remoteRef: { key: object, property: /NODE_OPTIONS }";
  await write(
    "db.yaml",
    ...extract.slice(0, -1),
    `  data: [{ secretKey: NPM_CONFIG_X, ${named} }]`,
  );
  const set = await start(["--", "printenv", "NPM_CONFIG_X"]).result;
  expect(set).toEqual({ code: 0, stdout: "canary\n", stderr: "" });
});

test("nothing that run prints or stores contains a value of the vault", async () => {
  await write("db.yaml", ...secretOf("bad-name", "shop/db"));
  const { code, stdout, stderr } = await start(["--", "true"]).result;
  expect(code).toBe(3);
  expect(stderr).toContain("rename it, for example to BAD_NAME");
  expect(stdout + stderr).not.toContain(VALUE);
  const entries = await readdir(directory.path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")),
  );
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.filter((text) => text.includes(VALUE))).toEqual([]);
});
