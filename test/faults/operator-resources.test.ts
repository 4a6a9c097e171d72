import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { Lanes } from "./support/lanes.ts";
import * as faults from "./support/faults.ts";

/**
 * The operator's process lacks memory, file descriptors or a disk. Each test has a separate
 * operator.
 */

/**
 * Limits the open files, or the address space in bytes, of a running process; what it has remains.
 */
function limit({ pid }: OperatorProcess, resource: "nofile" | "as", count: number): void {
  execFileSync("prlimit", ["--pid", `${pid}`, `--${resource}=${count}:`]);
}

test.concurrent("O4: without free file descriptors nothing is sent, and work resumes with them", async () => {
  await using world = await Lanes.create({ accounts: 1 });
  const operator = await world.startOperator();
  await using lane = await world.lane("o4-files");
  limit(operator, "nofile", 1);
  lane.proxy.reset();
  const second = await lane.protect();
  const sent = lane.proxy.requests.length;
  await sleep(6_000);
  expect(lane.proxy.requests.length).toBe(sent);
  expect(operator.exited).toBe(false);
  expect(lane.written).toEqual([lane.values[0]]);
  limit(operator, "nofile", 1024);
  await lane.inSync(90_000);
  expect(lane.written).toEqual([lane.values[0], second]);
  expect(world.canaries.tracesIn({ log: operator.log })).toEqual([]);
});

test.concurrent("O4: a process that can write neither a file nor its log syncs and stops as usual", async () => {
  await using world = await Lanes.create({ accounts: 1 });
  // No byte may be written to a file: as on a full or read-only disk, but also without a privilege
  // that ignores both.
  const through = ["sh", "-c", 'exec prlimit --fsize=0 "$@" 2>/dev/full', "sh"];
  const options = { through, env: { NODE_DISABLE_COMPILE_CACHE: "1" } };
  await using operator = OperatorProcess.launch(
    world.kubeconfig,
    ["--namespaces", world.namespace, "--no-leader-elect"],
    options,
  );
  world.operators.push(operator);
  await using lane = await world.lane("o4-disk");
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
  expect(await operator.stop()).toBe(0);
});

test.concurrent("O4: a process without memory ends with an error, and a restart converges", async () => {
  await using world = await Lanes.create({ accounts: 1 });
  const operator = await world.startOperator();
  await using lane = await world.lane("o4-memory");
  limit(operator, "as", 1);
  const others = Array.from({ length: 100_000 }, (_, index) => ({
    key_name: `other-${index}`,
    key_version: 1,
  }));
  lane.proxy.inject(faults.on("list_no_dup", faults.body(JSON.stringify({ secrets: others }))));
  const second = await lane.protect();
  const { code, stderr } = await operator.result;
  expect(code).toBe(null);
  expect(stderr.includes("out of memory")).toBe(true);
  expect(lane.written).toEqual([lane.values[0]]);
  await lane.proxy.heal();
  const restarted = await world.startOperator();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], second]);
  expect(world.canaries.tracesIn({ log: operator.log + restarted.log })).toEqual([]);
});
