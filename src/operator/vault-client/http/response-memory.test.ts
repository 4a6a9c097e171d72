import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { type ResponseBodyMemory, ResponseMemory } from "./response-memory.ts";

const signal = new AbortController().signal;
const MIB = 1024 * 1024;

/** Memory of 64 MiB, for lists of at most 16. */
const memory = (): ResponseMemory => new ResponseMemory(16 * MIB, 64 * MIB);

/** Reserves memory for bodies, each of another list, and records the order in which they got it. */
class Lists {
  readonly #memory = memory();
  readonly got: string[] = [];
  readonly bodies = new Map<string, ResponseBodyMemory>();

  async reserve(
    name: string,
    announced: number | undefined,
    tenant = name.slice(0, 1),
  ): Promise<void> {
    const body = this.#memory.of(tenant, "list_no_dup");
    this.bodies.set(name, body);
    void body.reserve(announced, signal).then(() => this.got.push(name));
    await new Promise(setImmediate);
  }

  async release(name: string): Promise<void> {
    this.bodies.get(name)?.release();
    await new Promise(setImmediate);
  }
}

test("ResponseMemory gives one tenant a quarter of the memory, and others theirs meanwhile", async () => {
  const lists = new Lists();
  for (const name of ["a1", "a2", "a3"]) await lists.reserve(name, 8 * MIB);
  for (const name of ["b1", "c1", "d1", "e1"]) await lists.reserve(name, 16 * MIB);
  expect(lists.got).toEqual(["a1", "a2", "b1", "c1", "d1"]);
  await lists.release("a1");
  expect(lists.got.slice(5)).toEqual(["a3"]);
  await lists.release("b1");
  expect(lists.got.slice(6)).toEqual(["e1"]);
});

test("ResponseMemory never gives more than its total, whatever is announced", async () => {
  const lists = new Lists();
  for (let tenant = 0; tenant < 300; tenant += 1)
    await lists.reserve(`${tenant}`, undefined, `tenant-${tenant}`);
  expect(lists.got).toHaveLength(64);
  const large = new Lists();
  for (let tenant = 0; tenant < 300; tenant += 1)
    await large.reserve(`${tenant}`, 16 * MIB, `tenant-${tenant}`);
  expect(large.got).toHaveLength(4);
});

test("a body without announced length grows while there is memory, and then is given up", async () => {
  const lists = new Lists();
  await lists.reserve("a1", undefined);
  const body = lists.bodies.get("a1");
  body?.grow(12 * MIB);
  await lists.reserve("a2", 4 * MIB);
  await lists.reserve("a3", 1 * MIB);
  expect(lists.got).toEqual(["a1", "a2"]);
  expect(() => body?.grow(13 * MIB)).toThrow("no memory");
  await lists.release("a1");
  expect(lists.got).toEqual(["a1", "a2", "a3"]);
});

test("a body that was given up waits for the memory of the longest one, and then for what it had", async () => {
  const all = memory();
  const other = all.of("a", "list_no_dup");
  await other.reserve(15 * MIB, signal);
  const body = all.of("a", "list_no_dup");
  await body.reserve(undefined, signal);
  expect(() => body.grow(2 * MIB)).toThrow("no memory");
  body.release();
  let isReserved = false;
  const again = body.reserve(undefined, signal).then(() => (isReserved = true));
  await new Promise(setImmediate);
  expect(isReserved).toBe(false);
  other.release();
  await again;
  body.grow(3 * MIB);
  body.release();
  await other.reserve(13 * MIB, signal);
  await body.reserve(undefined, signal);
  body.grow(3 * MIB);
});

test("a wait for memory that is aborted ends with no_memory, and takes none", async () => {
  const all = memory();
  const first = all.of("a", "list_file");
  await first.reserve(16 * MIB, signal);
  const abort = new AbortController();
  const second = all.of("a", "list_file");
  const waiting = failureOf(second.reserve(MIB, abort.signal));
  abort.abort(new Error("deadline"));
  expect(await waiting).toMatchObject({
    kind: "transient",
    code: "no_memory",
    operation: "list_file",
  });
  second.release();
  first.release();
  await all.of("a", "list_file").reserve(16 * MIB, signal);
});
