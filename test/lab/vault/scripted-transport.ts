import { onTestFinished } from "vitest";
import type { Clock } from "../../../src/lib/clock.ts";
import { UndiciTransport } from "../../../src/operator/vault-client/http/undici-transport.ts";
import type { VaultTransport } from "../../../src/operator/vault-client/http/vault-transport.ts";
import { ScriptedServer } from "./scripted-server.ts";

/** Starts a scripted server and a transport to it. Both are closed when the test ends. */
export async function scriptedTransport(
  clock: Clock,
): Promise<{ server: ScriptedServer; transport: VaultTransport }> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const policy = { allowHttp: true, allowedHosts: undefined };
  const transport = new UndiciTransport({ url: server.url, clock, ca: undefined, policy });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  return { server, transport };
}
