import { mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandsIn, manifestsIn, type PageCommand } from "../lab/docs/commands.ts";
import { ControlPlane } from "../lab/control-plane/control-plane.ts";
import { readHandle } from "../lab/control-plane/handle.ts";
import { InstalledPage } from "./support/installed-page.ts";
import { ShellProcess } from "../lab/real/processes/shell-process.ts";

const root = join(import.meta.dirname, "..", "..");
const readme = await readFile(join(root, "README.md"), "utf8");
const commands = commandsIn(readme);

/** Commands that cannot run in a test, each with its reason. */
const notRun: readonly (readonly [RegExp, string])[] = [
  [/^npm ci && npm test$/, "this test is part of it"],
];
const isRun = ({ command }: PageCommand): boolean =>
  !notRun.some(([pattern]) => pattern.test(command));

let directory: string;
let env: NodeJS.ProcessEnv;
/** The control plane of the manual setup. The installations use it as well. */
let controlPlane: ControlPlane;
const running: ShellProcess[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-readme-"));
  const { PATH = "", HOME } = process.env;
  // A new terminal has no Node of `npm ci`: only npm scripts find it.
  const others = PATH.split(delimiter).filter((entry) => !entry.includes("node_modules"));
  env = { PATH: [directory, ...others].join(delimiter), HOME, CI: "true" };
});

afterAll(async () => {
  for (const shell of running.toReversed()) await shell[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

/**
 * Replaces the names that a reader chooses: files are outside the checkout, and `npm ci` does not
 * run twice.
 */
function concrete(command: string): string {
  return command
    .replace(/^npm ci && /, "")
    .replaceAll("/tmp/", `${directory}/`)
    .replaceAll(/(?<= )(master\.key|vault\.db)/g, `${directory}/$1`);
}

function start(command: string, input?: string): ShellProcess {
  return new ShellProcess(concrete(command), {
    cwd: root,
    env,
    ...(input !== undefined && { input }),
  });
}

/** Starts a command that keeps running, and waits until it is ready. */
async function keepRunning(command: string): Promise<ShellProcess> {
  const shell = start(command);
  running.push(shell);
  if (command.includes("control-plane")) {
    await shell.until((output) => output.includes("alias kubectl="));
    const kubeconfig = /export KUBECONFIG=(.+)/.exec(shell.output)?.[1] ?? "";
    env = { ...env, KUBECONFIG: kubeconfig };
    controlPlane = new ControlPlane(await readHandle(dirname(kubeconfig)));
    // An alias does not reach a script: the same name in PATH does.
    await symlink(/alias kubectl=(.+)/.exec(shell.output)?.[1] ?? "", join(directory, "kubectl"));
  } else if (command.includes("> /tmp/vault.json")) {
    await shell.until(
      async () => (await stat(join(directory, "vault.json")).catch(() => ({ size: 0 }))).size > 0,
    );
  } else if (command.includes("vault serve")) {
    await shell.until((output) => output.includes('{"url":'));
  } else {
    await shell.until(
      async () => (await fetch("http://127.0.0.1:8080/readyz").catch(() => ({ ok: false }))).ok,
    );
  }
  return shell;
}

const section = (heading: string): PageCommand[] =>
  commands.filter((each) => each.heading === heading && isRun(each));

/** A value of the demo has 32 of these characters. */
const value = /(?<![\w-])[\w-]{32}(?![\w-])/u;

describe("README.md", () => {
  test("the demos without and with a cluster pass", { timeout: 300_000 }, async () => {
    const [local, whole] = section("Quick start").map(({ command }) => command);
    await using first = start(local ?? "");
    await first.succeed();
    expect(first.output).toContain("without a cluster.");
    await using second = start(whole ?? "");
    await second.succeed();
    expect(second.output).toContain("All steps passed.");
    // What the commands about a change print: a version is held, one waits, and all of it restarts.
    expect(second.output).toMatch(/^ +vaultsecret\/payments +False +InvalidContent +/mu);
    expect(second.output).toMatch(/^ +payments +3 +\S+Z +shop@example\.com +AwaitingApproval$/mu);
    expect(second.output).toContain("vaultsecret/payments is held");
    expect(second.output).toMatch(/^ +deployment\/payments +RolledOut +/mu);
    expect(second.output).not.toMatch(value);
  });

  test("the manual setup ends with synced resources", async () => {
    let lastOutput = "";
    for (const { command, keepsRunning } of section("Manual setup")) {
      if (keepsRunning) {
        await keepRunning(command);
        continue;
      }
      const shell = start(command);
      await shell.succeed();
      lastOutput = shell.output;
    }
    expect(lastOutput).toMatch(/vaultsecret\S*\/shop-db +True +Synced/);
    // The control plane came first and stays for the next tests. Disposing the later shells frees
    // their ports.
    for (const shell of running.splice(1)) await shell[Symbol.asyncDispose]();
  });

  test("the installation, with docker replaced by a recorder, ends with a synced Secret", async () => {
    await using installed = await InstalledPage.start(controlPlane, directory, env);
    await installed.writeFile("shop.yaml", manifestsIn(readme)[0] ?? "");
    await installed.run(section("Install"));
    await installed.run(section("Usage"));
    expect(await installed.passwordOf("shop-db")).toBe(installed.value);
  });

  test("docs/install.md, with docker replaced by a recorder, ends with a synced Secret", async () => {
    const sections = ["Installation", "First connection"];
    const page = commandsIn(await readFile(join(root, "docs/install.md"), "utf8")).filter(
      ({ heading }) => sections.includes(heading),
    );
    await using installed = await InstalledPage.start(controlPlane, directory, env);
    await installed.writeFile("shop.yaml", manifestsIn(readme)[0] ?? "");
    await installed.run(page);
    expect(await installed.passwordOf("shop-db")).toBe(installed.value);
    expect(new Set(page.map(({ heading }) => heading))).toEqual(new Set(sections));
  });

  test("the vault server starts with the commands of its section", async () => {
    for (const { command, keepsRunning } of section("The vault server")) {
      if (!keepsRunning) {
        await start(command, "correct horse battery staple\n").succeed();
        continue;
      }
      // One server at a time: both use port 8200.
      await using server = await keepRunning(command);
      expect(server.output).toContain('"url":"http://127.0.0.1:8200"');
    }
  });

  test("every command is run by a test of this file or has a reason not to be", () => {
    const sections = ["Quick start", "Install", "Usage", "Manual setup", "The vault server"];
    expect(commands.filter((each) => isRun(each) && !sections.includes(each.heading))).toEqual([]);
    expect(
      notRun.filter(([pattern]) => !commands.some(({ command }) => pattern.test(command))),
    ).toEqual([]);
    expect(section("Quick start")).toHaveLength(2);
  });
});
