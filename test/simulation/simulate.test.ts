import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SyncController } from "../../src/operator/controllers/sync/sync-controller.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { type Command, perform } from "./commands.ts";
import { randomCommands } from "./random-commands.ts";
import { runEpisode, shrink, simulate } from "./simulate.ts";
import { accountOf, urlOf, World } from "./world.ts";

const SCRIPT = join(import.meta.dirname, "../../scripts/simulation.ts");
const CONTROLLER = new URL("../../src/operator/controllers/sync/sync-controller.ts", import.meta.url);

const namespace = "one";
const entry = { vault: "a", owner: accountOf(namespace), name: "s1" } as const;
const connection: Command = {
  type: "put",
  kind: "VaultConnection",
  namespace,
  name: "main",
  spec: {
    url: urlOf("a"),
    email: accountOf(namespace),
    auth: { passwordSecretRef: { name: "login" } },
    refreshInterval: "5s",
    follow: "Interval",
  },
};
const resource: Command = {
  type: "put",
  kind: "VaultSecret",
  namespace,
  name: "alpha",
  spec: { connectionRef: { name: "main" }, data: [{ secretKey: "k1", remoteRef: { key: "s1" } }], target: {} },
};
/** The secret arrives only if a change of the vault wakes up the resource. */
const needed: readonly Command[] = [connection, resource, { type: "advance", ms: 300_000 }, { type: "write-secret", ...entry }];

afterEach(() => void vi.restoreAllMocks());

/** Runs the commands and returns every write at the API server. */
async function traceOf(seed: number, commands: readonly Command[]): Promise<string[]> {
  const world = new World(seed);
  const trace: string[] = [];
  world.server.onCommit(({ resource: { plural }, version, before, after, user }) => {
    const { name } = (after ?? before)!.metadata;
    trace.push(`${world.clock.monotonic()} ${version} ${user} ${plural} ${name} ${JSON.stringify(after?.["status"])}`);
  });
  world.start(0);
  world.start(1);
  for (const command of commands) await perform(world, command);
  world.end();
  return trace;
}

/** Replays the commands with the script, after `bug` was planted. */
async function replay(commands: readonly Command[], bug = ""): Promise<{ code: number; output: string }> {
  await using directory = await mkdtempDisposable(join(tmpdir(), "simulation-"));
  const file = join(directory.path, "failure.json");
  await writeFile(file, JSON.stringify({ seed: 1, commands }));
  const preloaded = join(directory.path, "bug.mjs");
  await writeFile(preloaded, bug);
  return await new Promise((resolve) => {
    const args = ["--import", preloaded, SCRIPT, "--replay", file];
    const process_ = execFile(process.execPath, args, { cwd: directory.path }, (_, output, errors) =>
      resolve({ code: process_.exitCode ?? -1, output: output + errors }),
    );
  });
}

describe("simulation", { timeout: 120_000 }, () => {
  test("finds no violation in 8,000 steps", async () => {
    expect(await simulate(8_000, 2, () => undefined)).toBeUndefined();
  });

  test("writes the same for the same seed", async () => {
    const commands = randomCommands(seededRandom(3), 120);
    const trace = await traceOf(3, commands);
    expect(trace.length).toBeGreaterThan(100);
    expect(await traceOf(3, commands)).toEqual(trace);
    expect(await traceOf(4, commands)).not.toEqual(trace);
  });

  test("shrinks a failure to the commands that it needs", async () => {
    vi.spyOn(SyncController.prototype, "onSnapshotChange").mockReturnValue();
    const idle: Command = { type: "advance", ms: 10 };
    const failure = await runEpisode(1, [idle, ...needed, idle, idle]);
    expect(failure).toMatchObject({ invariant: "I5" });
    const { commands, invariant } = await shrink(failure!, 20_000, () => undefined);
    expect(invariant).toBe("I5");
    expect(commands).toEqual(needed);
  });

  test("replays a failure, and reports it until it is fixed", async () => {
    const bug = `import { SyncController } from "${CONTROLLER.href}"; SyncController.prototype.onSnapshotChange = () => {};`;
    const failed = await replay(needed, bug);
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("I5: VaultSecret one/alpha: Ready=False SourceMissing");
    expect(failed.output).toContain(JSON.stringify(resource));
    expect(failed.output).toContain("Repeat it with: npm run simulation -- --replay simulation-failure-1.json");
    expect(await replay(needed)).toEqual({ code: 0, output: "no invariant is violated\n" });
  });
});
