import { expect, test } from "vitest";
import { SyslogCollector } from "../../../../test/lab/syslog-collector.ts";
import { systemClock } from "../../../lib/clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { VaultMetrics } from "../metrics.ts";
import { AuditForwarder } from "./audit-forwarder.ts";
import { parseForwardTarget } from "./forward-target.ts";
import { createAuditSink } from "./audit-sink.ts";

const metrics = new VaultMetrics();
const dropped = async (reason: string): Promise<number> =>
  (await metrics.auditForwardDropped.get()).values.find(({ labels }) => labels.reason === reason)
    ?.value ?? 0;
const forwarded = async (): Promise<number> =>
  (await metrics.auditForwarded.get()).values[0]?.value ?? 0;

test("a target that does not read costs at most the queue, and every dropped line is counted", async () => {
  await using collector = await SyslogCollector.tcp({ reads: false });
  const sink = createAuditSink({ kind: "tcp", host: "127.0.0.1", port: collector.port });
  const forwarder = new AuditForwarder({
    sink,
    clock: systemClock,
    logger: silentLogger,
    metrics,
    queueBytes: 1_000_000,
  });
  forwarder.start();
  const block = Buffer.from(`${"x".repeat(99_999)}\n`.repeat(2));
  const offered = 200;
  for (let n = 0; n < offered; n += 1) {
    forwarder.offer(block);
    await new Promise(setImmediate);
  }
  expect(await dropped("queue_full")).toBeGreaterThan(0);
  const [sent, full] = [await forwarded(), await dropped("queue_full")];
  // The queue has at most five blocks of two lines.
  expect(offered * 2 - sent - full).toBeLessThanOrEqual(10);
  await forwarder[Symbol.asyncDispose]();
  expect((await forwarded()) + (await dropped("queue_full")) + (await dropped("stopped"))).toBe(
    offered * 2,
  );
});

test("parseForwardTarget takes stdout and syslog servers with a default port for each transport", () => {
  expect(parseForwardTarget("stdout")).toEqual({ kind: "stdout" });
  expect(parseForwardTarget("syslog+tls://logs.example.com")).toEqual({
    kind: "tls",
    host: "logs.example.com",
    port: 6514,
  });
  expect(parseForwardTarget("syslog+tcp://10.0.0.1:1514/")).toEqual({
    kind: "tcp",
    host: "10.0.0.1",
    port: 1514,
  });
  expect(parseForwardTarget("syslog+udp://[::1]")).toEqual({ kind: "udp", host: "::1", port: 514 });
});

test.each([
  "",
  "stderr",
  "syslog://logs.example.com",
  "syslog+tcp://",
  "syslog+tcp://user:password@host",
  "syslog+tcp://host/path",
  "syslog+tcp://host?tls=no",
  "syslog+tcp://host:port",
])("parseForwardTarget rejects %j with the expected forms", (text) => {
  expect(() => parseForwardTarget(text)).toThrow("syslog+tls://HOST:PORT");
});
