import { lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { TestDirectory } from "../../../../test/lab/test-directory.ts";
import { stagePrivateFile, writePrivateFile } from "./target-files.ts";

const directory = new TestDirectory();
const bytes = Buffer.from("A='1'\n");

test("writePrivateFile creates and replaces a file that only its user can read", async () => {
  await mkdir(directory.path, { recursive: true });
  const path = directory.join("new.env");
  await writePrivateFile(path, bytes);
  await writeFile(path, "before");
  await writePrivateFile(path, bytes);
  expect([await readFile(path, "utf8"), (await lstat(path)).mode & 0o777]).toEqual([
    "A='1'\n",
    0o600,
  ]);
});

test("writePrivateFile replaces no device, although root may do that", async () => {
  await mkdir(directory.path, { recursive: true });
  const path = directory.join("device.env");
  await symlink("/dev/null", path);
  await expect(writePrivateFile(path, bytes)).rejects.toThrow(
    `${path} is not a regular file: name one, or - to print`,
  );
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
});

test("writePrivateFile replaces no link, whose file would keep an old value", async () => {
  await mkdir(directory.path, { recursive: true });
  const [path, link] = [directory.join("shared.env"), directory.join("link.env")];
  await writeFile(path, "before");
  await symlink(path, link);
  await expect(writePrivateFile(link, bytes)).rejects.toThrow(`${link} is not a regular file`);
  expect([(await lstat(link)).isSymbolicLink(), await readFile(path, "utf8")]).toEqual([
    true,
    "before",
  ]);
});

test("a staged file that replaces nothing leaves none", async () => {
  const path = directory.join("staged", "new.env");
  await mkdir(directory.join("staged"), { recursive: true });
  {
    await using _ = await stagePrivateFile(path, bytes);
    expect(await readdir(directory.join("staged"))).toHaveLength(1);
  }
  expect(await readdir(directory.join("staged"))).toEqual([]);
});
