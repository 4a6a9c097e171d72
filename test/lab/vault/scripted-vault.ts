import { expect, onTestFinished } from "vitest";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { json, ScriptedServer, type Script } from "./scripted-server.ts";
import {
  observeConnection,
  untilHealthy,
  type ObservedConnection,
  type ObserveOptions,
} from "./vault-connection.ts";

export const tokenResponse = (name: string): Script =>
  json({
    access_token: name,
    refresh_token: `${name}-refresh`,
    expires_in: 86_400,
    scope: "granted",
  });
export const listedSecret = (name: string, key_version = 1, more: object = {}): object => ({
  key_name: name,
  key_version,
  ...more,
});
export const listResponse = (...secrets: object[]): Script => json({ secrets });
export const valueResponse = (key_value: string, more: object = {}): Script =>
  json({ key_value, ...more });

/** A scripted vault. By default it issues the tokens T1 and T2 and returns empty lists. */
export class ScriptedVault {
  readonly server: ScriptedServer;

  private constructor(server: ScriptedServer) {
    this.server = server;
    this.on("generate_access_token", tokenResponse("T1"))
      .on("refresh_token", tokenResponse("T2"))
      .on("list_no_dup", listResponse())
      .on("list_file", json({ files: [] }));
  }

  /** Starts a vault that stops at the end of the test. */
  static async start(): Promise<ScriptedVault> {
    const server = await ScriptedServer.start();
    onTestFinished(() => server[Symbol.asyncDispose]());
    return new ScriptedVault(server);
  }

  on(operation: Operation, ...scripts: Script[]): this {
    this.server.on(operationPath[operation], ...scripts);
    return this;
  }

  count(operation: Operation): number {
    return this.server.to(operationPath[operation]).length;
  }

  bodies(operation: Operation): unknown[] {
    return this.server.to(operationPath[operation]).map(({ body }) => body);
  }

  connect(options: Omit<ObserveOptions, "url"> = {}): ObservedConnection {
    return observeConnection({ url: this.server.url, ...options });
  }

  /** Connects and waits for the first list. */
  connected(options: Omit<ObserveOptions, "url"> = {}): Promise<ObservedConnection> {
    return untilHealthy(this.connect(options));
  }
}

/** Returns the first listed record of this name. */
export function recordOf({ connection }: ObservedConnection, name: string): SecretRecord {
  const [record] = connection.snapshot?.secrets(name) ?? [];
  if (!record) throw new Error(`${name} is not listed`);
  return record;
}

/** Reads a value as text, with the version of the response. */
export async function textOf(
  observed: ObservedConnection,
  name: string,
  version?: number,
): Promise<[string, number]> {
  const record = recordOf(observed, name);
  const { signal } = new AbortController();
  const read = await observed.connection.reader(record)(version ?? record.version, signal);
  return [Buffer.from(read.bytes.reveal()).toString(), read.version];
}

/**
 * Waits until so many requests of an operation have ended: then none of them has a deadline on the
 * clock.
 */
export async function requestsEnded(
  { requests }: ObservedConnection,
  operation: Operation,
  count: number,
): Promise<void> {
  await expect
    .poll(() => requests.filter((request) => request.startsWith(`${operation} `)).length)
    .toBe(count);
}

/** Lists as soon as allowed, and waits for that list. */
export async function listSoon(observed: ObservedConnection): Promise<void> {
  observed.connection.pollSoon();
  await nextList(observed, 1_000);
}

/** Advances the clock by `ms` and waits for the list that follows. */
export async function nextList({ clock, requests }: ObservedConnection, ms: number): Promise<void> {
  const before = requests.length;
  await clock.advance(ms);
  await expect.poll(() => requests.length).toBeGreaterThan(before);
  await clock.advance(0);
}
