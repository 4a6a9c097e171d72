import { mkdirSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PrivateDirectory, removeLeftovers } from "./private-directory.ts";

const SHM = "/dev/shm";

test("without a place in memory, the error says what to do", () => {
  expect(() => PrivateDirectory.create([])).toThrow("mount a tmpfs at /dev/shm");
  expect(() => PrivateDirectory.create(["/absent"])).toThrow("set XDG_RUNTIME_DIR");
});

test("a directory is private, and disposing it removes it", () => {
  const directory = PrivateDirectory.create([SHM]);
  expect(statSync(directory.path).mode & 0o777).toBe(0o700);
  mkdirSync(join(directory.path, "a/b"), { recursive: true });
  directory.clear();
  expect(readdirSync(directory.path)).toEqual([]);
  directory[Symbol.dispose]();
  expect(() => statSync(directory.path)).toThrow("ENOENT");
});

test("leftovers of ended processes are removed, and nothing of running or other ones", () => {
  using running = PrivateDirectory.create([SHM]);
  const [own] = /\d+/u.exec(readlinkSync("/proc/self/ns/pid")) ?? [];
  const names = [
    `vaultsync-run-${own}-999999999-5-ended`,
    `vaultsync-run-${own}-${process.pid}-1-earlier`,
    `vaultsync-run-1-999999999-5-container`,
    `vaultsync-run-mine`,
  ];
  for (const name of names) mkdirSync(join(SHM, name), { mode: 0o700 });
  onTestFinished(() => {
    for (const name of names) rmSync(join(SHM, name), { recursive: true, force: true });
  });
  removeLeftovers();
  const left = readdirSync(SHM);
  expect(names.filter((name) => left.includes(name))).toEqual(names.slice(2));
  expect(statSync(running.path).isDirectory()).toBe(true);
});
