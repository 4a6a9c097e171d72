import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { unlimitedScope, formatScope } from "../../../protocol/scope.ts";
import { RequestedScope } from "./requested-scope.ts";

test("a fixed scope is requested unchanged, and lacks no name", () => {
  const scope = { ...unlimitedScope, secret_name: new Set(["a"]) };
  const requested = new RequestedScope(scope, false, new VirtualClock());
  expect(requested.setNames(new Set(["b"]))).toBeUndefined();
  expect(requested.current()).toEqual({ text: formatScope(scope), names: undefined });
  expect(requested.lacks(undefined)).toBe(false);
  expect(requested.lacks(new Set())).toBe(false);
});

test("a scope that admits nothing is rejected when the connection is opened", () => {
  const scope = { ...unlimitedScope, cloud_type: new Set<string>() };
  expect(() => new RequestedScope(scope, false, new VirtualClock())).toThrow(RangeError);
});

test("only a new name makes a login due, 2 s after the first", async () => {
  const clock = new VirtualClock();
  const requested = new RequestedScope(unlimitedScope, true, clock);
  expect(requested.setNames(new Set(["a", "b"]))).toBe(2_000);
  const before = requested.current();
  await clock.advance(2_000);
  expect(requested.setNames(new Set(["b"]))).toBeUndefined();
  expect(requested.isDue(before)).toBe(false);
  expect(requested.current().text).toBe(
    formatScope({ ...unlimitedScope, secret_name: new Set(["b"]) }),
  );
  expect(requested.setNames(new Set(["b", "c"]))).toBe(2_000);
  await clock.advance(1_500);
  expect(requested.setNames(new Set(["c", "d"]))).toBe(500);
  expect(requested.isDue(before)).toBe(false);
  await clock.advance(500);
  expect(requested.isDue(before)).toBe(true);
  expect(requested.isDue(requested.current())).toBe(false);
});
