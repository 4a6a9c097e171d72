import { chmod, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { TestDirectory } from "../../../../test/lab/test-directory.ts";
import { KeyFile, parseMasterKeys } from "./key-file.ts";
import { KeyRing } from "./key-ring.ts";
import { generateMasterKey, MasterKey } from "./master-key.ts";

const directory = new TestDirectory();
let file: string;
beforeEach(() => {
  file = directory.join("master.key");
});

const keys = Array.from({ length: 3 }, () => generateMasterKey());
const texts = keys.map((key) => Buffer.from(key.reveal()).toString("base64"));
const ids = keys.map((key) => new MasterKey(key).id);
const [key0, key1, key2] = texts as [string, string, string];
const idsOf = (text: string): string[] => parseMasterKeys(text).map(({ id }) => id);

test("parseMasterKeys reads keys from lines and comma-separated lists, with comments, in order", () => {
  expect(idsOf(`${key0}\n`)).toEqual(ids.slice(0, 1));
  expect(idsOf(`# both\n\n ${key0} # old\r\n${key1},${key2}`)).toEqual(ids);
});

test.each([
  ["nothing", "", "no master key"],
  ["a comment alone", "# here", "no master key"],
  ["too short", "c2hvcnQ=", "32 bytes in base64"],
  ["too long", Buffer.alloc(33).toString("base64"), "32 bytes in base64"],
  ["no base64", "*".repeat(44), "32 bytes in base64"],
  ["one good, one bad", `${texts[0]}\nbad`, "32 bytes in base64"],
])("parseMasterKeys rejects invalid text without quoting it: %s", (_what, text, message) => {
  expect(() => parseMasterKeys(text)).toThrow(message);
  expect(() => parseMasterKeys(text)).not.toThrow(key0);
});

test("a key ring finds a key added to its file and reads the file only when it has changed", async () => {
  await writeFile(file, key0);
  let reads = 0;
  const keyFile = new KeyFile(file);
  const ring = new KeyRing({
    read() {
      const read = keyFile.read();
      reads += read ? 1 : 0;
      return read;
    },
  });
  for (let n = 0; n < 3; n += 1) expect(ring.find(ids[1]!)).toBeUndefined();
  expect(reads).toBe(1);
  new KeyFile(file).add(keys[1]!);
  expect(ring.get(ids[1]!).id).toBe(ids[1]);
  expect(reads).toBe(2);
  expect(ring.ids).toEqual(ids.slice(0, 2));
  // Records that were just read can still be opened with the retired key.
  new KeyFile(file).retireAllBut(ids[1]!);
  expect(ring.find(ids[2]!)).toBeUndefined();
  expect(ring.find(ids[0]!)?.id).toBe(ids[0]);
  expect(() => ring.get("0123456789abcdef")).toThrow("unknown master key 0123456789abcdef");
});

test("a key ring keeps its keys when the file becomes unreadable", async () => {
  await writeFile(file, key0);
  const ring = new KeyRing(new KeyFile(file));
  await writeFile(file, "half a ke");
  expect(() => ring.find(ids[1]!)).toThrow("32 bytes in base64");
  expect(ring.find(ids[0]!)?.id).toBe(ids[0]);
  await rm(file);
  expect(() => ring.find(ids[1]!)).toThrow("ENOENT");
  expect(ring.find(ids[0]!)?.id).toBe(ids[0]);
});

test("KeyFile.add keeps comments and mode and adds a key once", async () => {
  await writeFile(file, `# the vault's\n${key0}`);
  await chmod(file, 0o640);
  for (let n = 0; n < 2; n += 1) new KeyFile(file).add(keys[1]!);
  expect(await readFile(file, "utf8")).toBe(`# the vault's\n${key0}\n${key1}\n`);
  expect((await stat(file)).mode & 0o777).toBe(0o640);
  expect(await readdir(directory.path)).toEqual(["master.key"]);
});

test("KeyFile.add keeps a symbolic link and replaces the temporary file of a killed process", async () => {
  const link = directory.join("link.key");
  await writeFile(file, `${key0}\n`, { mode: 0o600 });
  await symlink("master.key", link);
  await writeFile(`${file}.tmp`, "half");
  new KeyFile(link).add(keys[1]!);
  expect(idsOf(await readFile(file, "utf8"))).toEqual(ids.slice(0, 2));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readdir(directory.path)).toSorted()).toEqual(["link.key", "master.key"]);
});

test("KeyFile.retireAllBut keeps one key and the comments and writes the others to files", async () => {
  await writeFile(file, `# kept\n${key0}, ${key2}\n${key1} # the new one\n`, { mode: 0o600 });
  const retired = new KeyFile(file).retireAllBut(ids[1]!);
  expect(await readFile(file, "utf8")).toBe(`# kept\n${key1} # the new one\n`);
  expect(retired).toEqual([ids[0], ids[2]].map((id) => `${file}.${id}.retired`));
  expect(
    await Promise.all(retired.map(async (path) => idsOf(await readFile(path, "utf8")))),
  ).toEqual([[ids[0]], [ids[2]]]);
  for (const path of retired) expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(new KeyFile(file).retireAllBut(ids[1]!)).toEqual([]);
});
