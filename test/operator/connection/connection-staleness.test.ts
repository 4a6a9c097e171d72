import { describe, expect, test } from "vitest";
import { INTERVAL, registryScene } from "../../lab/vault/registry-scene.ts";

describe("ConnectionRegistry staleness", () => {
  test("starts after three intervals without a response, and notifies all resources once", async () => {
    const { clock, open, staleSince, takeCalls } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    const heard = clock.now();
    takeCalls();
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBe(heard);
    expect(takeCalls()).toEqual(["state", "status"]);
    await clock.advance(100 * INTERVAL);
    expect(takeCalls()).toEqual([]);
  });

  test("is measured from the opening if the vault never responded", async () => {
    const { clock, open, staleSince } = registryScene();
    const opened = clock.now();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBe(opened);
  });

  test("does not start while lists arrive, and uses a single timer", async () => {
    const { clock, open, staleSince, takeCalls } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    for (let count = 0; count < 20; count += 1) {
      await clock.advance(INTERVAL);
      connection.list();
      expect(staleSince()).toBeUndefined();
      expect(clock.pending).toBe(1);
    }
    expect(takeCalls()).toEqual([]);
  });

  test("starts three intervals after the last list, not after the timer was set", async () => {
    const { clock, open, staleSince } = registryScene();
    const connection = await open();
    await clock.advance(2 * INTERVAL);
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBeDefined();
  });

  test("ends when the vault responds again, and can start again", async () => {
    const { clock, open, staleSince, takeCalls } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("connection refused"));
    await clock.advance(4 * INTERVAL);
    expect(staleSince()).toBeDefined();
    connection.list();
    expect(staleSince()).toBeDefined();
    takeCalls();
    await clock.advance(INTERVAL - 1);
    connection.list();
    await clock.advance(1);
    expect(staleSince()).toBeUndefined();
    expect(takeCalls()).toEqual(["state", "status"]);
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
  });

  test("does not end with one list in an outage", async () => {
    const { clock, open, staleSince, takeCalls } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("connection refused"));
    await clock.advance(4 * INTERVAL);
    connection.list();
    connection.setHealth("failing", new Error("connection refused"));
    const since = staleSince();
    takeCalls();
    await clock.advance(2 * INTERVAL);
    connection.list();
    expect(staleSince()).toBeDefined();
    await clock.advance(INTERVAL);
    expect(since !== undefined).toBe(true);
    expect(staleSince() !== undefined).toBe(true);
  });

  test("does not start within 30 s, however short the interval", async () => {
    const { clock, open, staleSince } = registryScene();
    const connection = await open({ intervalMs: 5_000 });
    for (let outage = 0; outage < 5; outage += 1) {
      connection.list({ changed: ["db"] });
      connection.setHealth("failing", new Error("connection refused"));
      await clock.advance(29_999);
      expect(staleSince()).toBeUndefined();
    }
    await clock.advance(1);
    expect(staleSince()).toBeDefined();
  });

  test("ends if no request failed, as after a slow list or a suspended process", async () => {
    const { clock, open, staleSince } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL + 1);
    expect(staleSince()).toBeDefined();
    for (let count = 0; count < 2; count += 1) {
      connection.list();
      await clock.advance(INTERVAL);
    }
    expect(staleSince()).toBeUndefined();
  });

  test("is measured with the monotonic clock", async () => {
    const { clock, open, staleSince } = registryScene();
    const connection = await open();
    connection.list({ changed: ["db"] });
    clock.stepWall(86_400_000);
    await clock.advance(INTERVAL);
    expect(staleSince()).toBeUndefined();
    clock.stepWall(-2 * 86_400_000);
    await clock.advance(2 * INTERVAL);
    expect(staleSince()).toBeDefined();
  });

  test("of a replaced connection does not affect the new one", async () => {
    const { clock, open, staleSince } = registryScene();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
    await open({ fingerprint: "2" });
    expect(staleSince()).toBeUndefined();
  });
});
