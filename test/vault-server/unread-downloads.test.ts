import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const ann = "ann@example.com";
const bob = "bob@example.com";
/** More than the buffers of two sockets. */
const FILE_BYTES = 48 * 1024 * 1024;

/**
 * Sends the request for a file on a separate connection, waits for the begin of the response, and
 * does not read it.
 */
async function openDownload(
  url: string,
  { token, email }: VaultClient,
  filename: string,
): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined).pause();
  await once(socket, "connect");
  const body = JSON.stringify({ email, filename });
  socket.write(
    `POST ${operationPath.download_file} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `authorization: ${token}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await once(socket, "readable");
  return socket;
}

async function outcome(user: VaultClient): Promise<string> {
  return (await user.call("download_file", { filename: "none" })).outcome();
}

async function startWithFile(options: Parameters<typeof TestVault.start>[0]) {
  const vault = await TestVault.start(options);
  const caller = await vault.client(ann, undefined, 1e6);
  expect((await caller.upload([{ filename: "f", bytes: Buffer.alloc(FILE_BYTES) }])).status).toBe(
    200,
  );
  return { vault, caller };
}

test("a client that does not read a download is disconnected, one that reads it slowly is not", async () => {
  const clock = new VirtualClock();
  const { vault, caller } = await startWithFile({ clock });
  await using _vault = vault;
  const silent = await openDownload(vault.url, caller, "f");
  // A socket that does not read learns of the end when it writes.
  const isDisconnected = async (): Promise<boolean> => {
    await clock.advance(80_000);
    if (!silent.destroyed) silent.write("\r\n");
    return silent.destroyed;
  };
  await expect.poll(isDisconnected).toBe(true);

  const slow = await openDownload(vault.url, caller, "f");
  let received = 0;
  // A second for each piece, of 64 KiB at most.
  for await (const bytes of slow.resume() as AsyncIterable<Buffer>) {
    received += bytes.length;
    await clock.advance(1000);
    if (received > FILE_BYTES) break;
  }
  expect(received).toBeGreaterThan(FILE_BYTES);
  slow.destroy();
});

test("an account has at most so many downloads in progress, and others are not affected", async () => {
  // In real time, in which the request rate recovers, however often the state is polled.
  const { vault, caller } = await startWithFile({ limits: { downloadsPerAccount: 2 } });
  await using _vault = vault;
  const open = [
    await openDownload(vault.url, caller, "f"),
    await openDownload(vault.url, caller, "f"),
  ];
  const opened = async () =>
    (await caller.call("download_file", { filename: "none" })).bytes.toString();
  await expect.poll(opened).toContain("too many simultaneous downloads");
  expect(await outcome(await vault.client(bob))).toBe("404 file_not_found");
  for (const socket of open) socket.destroy();
  await expect.poll(() => outcome(caller)).toBe("404 file_not_found");
});
