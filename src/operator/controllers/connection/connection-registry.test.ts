import { testFacts } from "../../../../test/lab/vault/open-connection.ts";
import { describe, expect, test } from "vitest";
import { INTERVAL, KEY, registryScene } from "../../../../test/lab/vault/registry-scene.ts";

describe("ConnectionRegistry.get", () => {
  test('returns "absent" for an unknown key, and "opening" for one not yet opened', () => {
    expect(registryScene(() => false).connections.get(KEY)).toEqual({ state: "absent" });
    expect(registryScene().connections.get(KEY)).toEqual({ state: "opening" });
  });

  test('returns "absent" as soon as the VaultConnection is being deleted, before it is closed', async () => {
    let exists = true;
    const { connections, open } = registryScene(() => exists);
    await open();
    exists = false;
    expect(connections.get(KEY)).toEqual({ state: "absent" });
  });

  test("returns vault, account and interval of an open connection", async () => {
    const { connections, open } = registryScene();
    const connection = await open();
    expect(connections.get(KEY)).toEqual({
      state: "open",
      connection,
      fingerprint: "1",
      id: "1",
      vault: "vault",
      account: "ops@example.com",
      facts: testFacts,
      trustedOwners: undefined,
      receive: "Trusted",
      intervalMs: INTERVAL,
      removals: expect.objectContaining({ held: 0 }),
      stale: undefined,
    });
    expect(connections.client(KEY)).toBe(connection);
  });

  test("returns the reason why a connection cannot be opened", async () => {
    const { connections, open } = registryScene();
    const connection = await open();
    await connections.markInvalid(KEY, "spec.url: no");
    expect(connections.get(KEY)).toEqual({ state: "invalid", message: "spec.url: no" });
    expect(connections.client(KEY)).toBeUndefined();
    expect(connection.closed).toBe(true);
  });
});

describe("ConnectionRegistry.open", () => {
  test("keeps a connection with the same fingerprint, and closes it first otherwise", async () => {
    const { opened, open, connections } = registryScene();
    await open();
    await open();
    expect(opened).toHaveLength(1);
    const second = await open({ fingerprint: "2" });
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
    expect(connections.client(KEY)).toBe(second);
    expect([...connections.keys()]).toHaveLength(1);
  });

  test("opens a connection that could not be opened before", async () => {
    const { connections, open } = registryScene();
    await connections.markInvalid(KEY, "no");
    const connection = await open();
    expect(connections.client(KEY)).toBe(connection);
  });

  test("notifies all resources when it opens or closes a connection", async () => {
    const { connections, open, takeCalls } = registryScene();
    await open();
    expect(takeCalls()).toEqual(["state"]);
    await connections.close(KEY);
    expect(takeCalls()).toEqual(["state"]);
  });

  test("closing notifies all resources, also when there is no open connection", async () => {
    let exists = true;
    const { connections, open, takeCalls } = registryScene(() => exists);
    await open();
    // Deleted in the foreground: one event sets the deletion timestamp, another one removes the
    // object.
    await connections.close(KEY);
    takeCalls();
    exists = false;
    await connections.close(KEY);
    expect(takeCalls()).toEqual(["state"]);
    expect(connections.get(KEY)).toEqual({ state: "absent" });
  });

  test("ignores a closed connection and disposes its timer", async () => {
    const { clock, connections, open, takeCalls } = registryScene();
    const connection = await open();
    await connections.close(KEY);
    takeCalls();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("x"));
    await clock.advance(10 * INTERVAL);
    expect(takeCalls()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("disposing the registry closes all connections without a notification", async () => {
    const { clock, connections, open, takeCalls } = registryScene();
    const connection = await open();
    takeCalls();
    await connections[Symbol.asyncDispose]();
    expect(connection.closed).toBe(true);
    expect([...connections.keys()]).toEqual([]);
    expect(takeCalls()).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("ConnectionRegistry after a list", () => {
  test("notifies all resources of the first list, and of later ones only by changed name", async () => {
    const { open, takeCalls } = registryScene();
    const connection = await open();
    takeCalls();
    connection.list({ changed: ["db"] });
    expect(takeCalls()).toContain("state");
    connection.list({ changed: ["api"] });
    expect(takeCalls()).toEqual(["changed api", "status"]);
    connection.list();
    expect(takeCalls()).toEqual([]);
  });

  test("notifies all resources when files are included in the list or no longer", async () => {
    const { open, takeCalls } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.list({ changed: ["db"], fileCount: 2 });
    expect(takeCalls()).toEqual(["state", "status"]);
    connection.list({ changed: ["db"], fileCount: 3 });
    expect(takeCalls()).toEqual(["changed db", "status"]);
    connection.list({ changed: ["db"] });
    expect(takeCalls()).toEqual(["state", "status"]);
  });

  test("notifies all resources of a failure only before the first list", async () => {
    const { open, takeCalls } = registryScene();
    const connection = await open();
    takeCalls();
    connection.setHealth("failing", new Error("connection refused"));
    expect(takeCalls()).toEqual(["state", "status"]);
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.setHealth("failing", new Error("connection refused"));
    expect(takeCalls()).toEqual(["status"]);
  });

  test("notifies all resources when a failing connection is healthy again, also if never stale", async () => {
    const { open, takeCalls } = registryScene();
    const connection = await open({ intervalMs: 60 * INTERVAL });
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("credentials rejected"));
    takeCalls();
    connection.list();
    expect(takeCalls()).toEqual(["state", "status"]);
  });

  test("notifies the status when the token was renewed and nothing else changed", async () => {
    const { clock, open, takeCalls } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.changeToken({ expiresAt: clock.now(), refreshedAt: clock.now(), scope: undefined });
    expect(takeCalls()).toEqual(["status"]);
  });
});
