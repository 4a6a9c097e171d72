import fs, {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PublishedDirectory } from "../../src/operator/cli/local/published-directory.ts";
import type { LocalTarget } from "../../src/operator/cli/local/local-targets.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { FollowedScene, keysOf, writtenOf } from "./support/followed-scene.ts";

const directory = new TestDirectory();

type Texts = Readonly<Record<string, Readonly<Record<string, string>>>>;

const origin = {
  synced: new Map([["a", { version: 3, source: "v.s", createdAt: 5 }]]),
  sources: new Map([["a", { name: "a", owner: "ann@example.com", deleteAt: 7 }]]),
};

const targetsOf = (texts: Texts): LocalTarget[] =>
  Object.entries(texts).map(([name, keys]) => {
    const resource = { target: { kind: "Secret", name } };
    const content = new Map(Object.entries(keys).map(([key, text]) => [key, Buffer.from(text)]));
    return { manifest: {}, resource, content, origin } as unknown as LocalTarget;
  });

/** Returns the files that a reader of the directory sees. */
const visible = (path: string): Texts =>
  Object.fromEntries(
    readdirSync(path)
      .filter((name) => !name.startsWith(".."))
      .map((name) => {
        const keys = readdirSync(join(path, name));
        return [
          name,
          Object.fromEntries(keys.map((key) => [key, readFileSync(join(path, name, key), "utf8")])),
        ];
      }),
  );

const internal = (path: string): string[] =>
  readdirSync(path).filter((name) => name.startsWith(".."));

const OLD: Texts = { db: { a: "old", b: "old" }, web: { c: "old" } };
const NEW: Texts = { db: { a: "new", b: "new" }, api: { d: "new" } };

test("a version is private, and the next one replaces all of it with one link", async () => {
  const path = directory.join("files");
  const published = new PublishedDirectory(path);
  await published.publish(targetsOf(OLD));
  expect(visible(path)).toEqual(OLD);
  const modes = ["", "..data/", "db/", "db/a"].map(
    (name) => statSync(join(path, name)).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
  const first = readlinkSync(join(path, "..data"));
  writeFileSync(join(path, "README"), "foreign");
  await published.publish(targetsOf(NEW));
  expect(readlinkSync(join(path, "..data"))).not.toBe(first);
  expect(readFileSync(join(path, "README"), "utf8")).toBe("foreign");
  expect(readdirSync(path).filter((name) => !name.startsWith(".."))).toEqual([
    "README",
    "api",
    "db",
  ]);
  expect(internal(path)).toHaveLength(2);
});

test("another process reads what was published, with its origins", async () => {
  const path = directory.join("files");
  const targets = targetsOf(OLD);
  await new PublishedDirectory(path).publish(targets);
  const read = await new PublishedDirectory(path).read();
  expect(read).toEqual(writtenOf(targets));
  expect(await new PublishedDirectory(directory.join("absent")).read()).toEqual(new Map());
});

test("a removal at its delete_time is noticed by the process after the one that listed it", async () => {
  const scene = new FollowedScene();
  scene.store("a", "a1", { delete_time: 2 });
  scene.store("b", "b1");
  const published = new PublishedDirectory(directory.join("files"));
  await scene.follow({ db: keysOf("a", "b") });
  await scene.next();
  await published.publish(scene.targets);
  scene.written = await published.read();
  await scene.clock.advance(180_000);
  expect((await scene.next()).targets).toEqual({ db: { b: "b1" } });
});

test("a name that others use is refused, and nothing changes", async () => {
  const path = directory.join("files");
  mkdirSync(join(path, "db"), { recursive: true });
  const published = new PublishedDirectory(path);
  await expect(published.publish(targetsOf(OLD))).rejects.toThrow(
    `${path}/db is not of vaultsync render: remove it, or choose another directory`,
  );
  expect(readdirSync(path)).toEqual(["db"]);
});

const steps = ["mkdir", "writeFile", "rename", "symlink", "rm"] as const;
const syncSteps = ["symlinkSync", "renameSync", "rmSync"] as const;

/** Lets the file system fail from a step on, as for a process that does not run any more. */
function failAfter(count: number): { readonly restore: () => void; readonly calls: () => number } {
  const original = { ...fs, promises: { ...fs.promises } };
  let calls = 0;
  const failing =
    (real: (...args: never[]) => unknown) =>
    (...args: never[]): unknown => {
      calls += 1;
      if (calls > count) throw Object.assign(new Error("killed"), { code: "EIO" });
      return real(...args);
    };
  for (const name of steps)
    Object.assign(fs.promises, { [name]: failing(original.promises[name] as never) });
  for (const name of syncSteps) Object.assign(fs, { [name]: failing(original[name] as never) });
  syncBuiltinESMExports();
  const restore = (): void => {
    for (const name of steps) Object.assign(fs.promises, { [name]: original.promises[name] });
    for (const name of syncSteps) Object.assign(fs, { [name]: original[name] });
    syncBuiltinESMExports();
  };
  onTestFinished(restore);
  return { restore, calls: () => calls };
}

test("a crash at any step leaves the old or the new version whole, and nothing else later", async () => {
  const outcomes = new Set<string>();
  let isWhole = false;
  let count = 0;
  for (; !isWhole; count++) {
    const path = directory.join(`crash-${count}`);
    const published = new PublishedDirectory(path);
    await published.publish(targetsOf(OLD));
    const { restore, calls } = failAfter(count);
    await published.publish(targetsOf(NEW)).catch(() => undefined);
    isWhole = calls() <= count;
    restore();
    const seen = await published.read();
    const isNew = seen.has("Secret/api");
    expect(seen).toEqual(writtenOf(targetsOf(isNew ? NEW : OLD)));
    outcomes.add(isNew ? "new" : "old");
    // The next process.
    const next = new PublishedDirectory(path);
    next.removeLeftovers();
    await next.link([...seen.keys()].map((key) => key.replace("Secret/", "")));
    expect(visible(path)).toEqual(isNew ? NEW : OLD);
    expect(internal(path)).toHaveLength(2);
    await next.publish(targetsOf(NEW));
    expect(visible(path)).toEqual(NEW);
    expect(lstatSync(join(path, "db")).isSymbolicLink()).toBe(true);
  }
  expect(outcomes).toEqual(new Set(["old", "new"]));
  expect(count).toBeGreaterThan(8);
});
