import { spawn, spawnSync } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Redacted } from "../lib/redacted.ts";
import { createLogger } from "./create-logger.ts";

const canary = "canary-log-71d2";

function capture() {
  const lines: string[] = [];
  const logger = createLogger({
    name: "test",
    level: "info",
    destination: { write: (line) => void lines.push(line) },
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? "") };
}

test("a line is JSON with time, level, program, the allowed fields and the message", () => {
  const { logger, last } = capture();
  logger.info({ namespace: "shop", count: 3 }, "synced");
  expect(last()).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u),
    program: "test",
    namespace: "shop",
    count: 3,
    msg: "synced",
  });
});

test("a field that is not allowed is masked at any depth, also in child loggers", () => {
  const { logger, lines, last } = capture();
  logger.warn({ value: canary, token: canary, key: { password: canary, name: "a" } }, "x");
  expect(last()).toMatchObject({
    value: "[redacted]",
    token: "[redacted]",
    key: { password: "[redacted]", name: "a" },
  });
  logger.child({ controller: "secret", authorization: canary }).error({ data: [canary] }, "y");
  expect(last()).toMatchObject({
    controller: "secret",
    authorization: "[redacted]",
    data: "[redacted]",
  });
  expect(lines.join("")).not.toContain(canary);
});

test("redacted values, bytes and error messages are never printed in allowed fields", () => {
  const { logger, lines, last } = capture();
  const error = Object.assign(new TypeError(`cannot parse ${canary}`), {
    code: "ERR_X",
    cause: canary,
  });
  logger.error(
    {
      error,
      name: new Redacted(canary),
      key: Buffer.from(canary),
      resource: [new Redacted(canary)],
    },
    "failed",
  );
  expect(last()).toMatchObject({
    error: { name: "TypeError", code: "ERR_X" },
    name: "[redacted]",
    key: "[redacted]",
    resource: ["[redacted]"],
  });
  expect(last().error.frames[0]).toMatch(/^at /u);
  expect(lines.join("")).not.toContain(canary);
});

test("lines below the level are dropped", () => {
  const { logger, lines } = capture();
  logger.debug({ name: "x" }, "detail");
  expect(lines).toEqual([]);
});

test("a log that cannot be written does not end the program", () => {
  const program = `
    import { createLogger } from ${JSON.stringify(join(import.meta.dirname, "create-logger.ts"))};
    const logger = createLogger({ name: "test", level: "info" });
    for (let line = 0; line < 3; line += 1) logger.info({}, "lost");
    setImmediate(() => console.log("continues"));`;
  const stdio = ["ignore", "pipe", openSync("/dev/full", "w")] as const;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    stdio: [...stdio],
  });
  expect(status).toBe(0);
  expect(stdout.toString()).toBe("continues\n");
});

test("all lines are written in order, also directly before the end of the process", () => {
  const program = `
    import { createLogger } from ${JSON.stringify(join(import.meta.dirname, "create-logger.ts"))};
    const logger = createLogger({ name: "test", level: "info" });
    logger.info({ count: 1 }, "waits");
    logger.warn({ count: 2 }, "is written");
    logger.info({ count: 3 }, "last");
    process.exit(0);`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program]);
  const lines = stderr.toString().trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).count)).toEqual([1, 2, 3]);
});

test("a warning does not wait, and another line is written soon", async () => {
  const program = `
    import { createLogger } from ${JSON.stringify(join(import.meta.dirname, "create-logger.ts"))};
    const logger = createLogger({ name: "test", level: "info" });
    logger.warn({ count: 1 }, "now");
    logger.info({ count: 2 }, "soon");
    setInterval(() => undefined, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stderr.on("data", (chunk) => (text += String(chunk)));
  await expect.poll(() => text, { timeout: 30_000 }).toMatch(/"count":1.*\n.*"count":2/u);
});
