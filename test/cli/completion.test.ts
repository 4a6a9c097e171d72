import { execFileSync } from "node:child_process";
import { expect, test, onTestFinished } from "vitest";
import { program } from "../../src/program.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { TestDirectory } from "../lab/test-directory.ts";

/** Returns what bash proposes for the last word of a line. */
async function completions(...words: string[]): Promise<string[]> {
  const { stdout: script } = await runInProcess(["completion", "bash"]);
  const run = `${script}COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vaultsync; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["--norc", "-c", run, "bash", "vaultsync", ...words], {
    encoding: "utf8",
  })
    .trimEnd()
    .split("\n");
}

test("bash completes commands, options and their choices, at the level of the line", async () => {
  expect(await completions("st")).toEqual(["status"]);
  expect(await completions("secret", "")).toEqual([
    "list",
    "get",
    "versions",
    "set",
    "delete",
    "share",
    "unshare",
    "--help",
  ]);
  expect(await completions("secret", "list", "--ou")).toEqual(["--output"]);
  expect(await completions("secret", "list", "--output", "")).toEqual(["table", "json", "yaml"]);
  expect(await completions("vault", "user", "dis")).toEqual(["disable"]);
  // A value that is the name of a command does not change the level.
  expect(await completions("sync", "status", "--time")).toEqual(["--timeout"]);
});

test.each(["bash", "zsh", "fish"])("%s gets every command", async (shell) => {
  const { code, stdout } = await runInProcess(["completion", shell]);
  expect(code).toBe(0);
  for (const command of program().commands) expect(stdout).toContain(command.name());
});

test("an unknown shell is wrong usage", async () => {
  expect(await runInProcess(["completion", "tcsh"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("bash, zsh, fish"),
  });
});

const directory = new TestDirectory();

test("the operator says which kubeconfig it cannot read", async () => {
  const { code, stderr } = await runInProcess(["operator"], { KUBECONFIG: "/nonexistent/config" });
  expect(code).toBe(1);
  expect(stderr).toBe(
    "vaultsync: cannot read the kubeconfig /nonexistent/config (from KUBECONFIG): ENOENT: set KUBECONFIG or give --kubeconfig FILE\n",
  );
});

test("the operator says which flag chooses another address if its own is in use", async () => {
  const kubeconfig = directory.join("config");
  const cluster = 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]';
  await writeFile(
    kubeconfig,
    `current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n${cluster}\n`,
  );
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const address = taken.address();
  const listen = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const { code, stderr } = await runInProcess([
    "operator",
    "--kubeconfig",
    kubeconfig,
    "--listen",
    listen,
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${listen} is in use (EADDRINUSE): stop the program that listens there`);
  expect(stderr).toContain("or choose another with --listen HOST:PORT");
});
