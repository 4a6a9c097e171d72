import { connect } from "node:net";
import { expect, test } from "vitest";
import { recordingLogger } from "../lab/assertions/recording-logger.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const ann = "ann@example.com";

/** Requests the list of secrets and leaves `afterMs` after the request is sent. */
async function leave({ port, hostname }: URL, token: string, afterMs: number): Promise<void> {
  const body = JSON.stringify({ email: ann });
  const lines = [
    `POST ${operationPath.list_no_dup} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: ${token}`,
    "content-type: application/json",
    "accept-encoding: gzip",
    `content-length: ${body.length}`,
    "",
    body,
  ];
  const socket = connect(Number(port), hostname);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on("close", () => resolve());
  socket.write(lines.join("\r\n"), () => setTimeout(() => socket.destroy(), afterMs));
  await closed;
}

test("a caller who leaves while a list is prepared causes no error in the log", async () => {
  const { logger, lines } = recordingLogger();
  await using vault = await TestVault.start({ logger });
  const client = await vault.client(ann);
  const metadata = { note: "n".repeat(2000) };
  for (let at = 0; at < 400; at++)
    await client.call("protect", { key_name: `name-${at}`, key_value: "v", metadata });
  const token = (await vault.logIn(ann)).json().access_token;
  for (let afterMs = 0; afterMs < 40; afterMs++) await leave(new URL(vault.url), token, afterMs);
  expect((await client.call("list_no_dup")).outcome()).toBe("200");
  expect(lines.filter(({ message }) => message === "request failed")).toEqual([]);
});
