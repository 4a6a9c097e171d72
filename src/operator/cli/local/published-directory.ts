import { randomUUID } from "node:crypto";
import { readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import {
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { codeOf } from "../../../lib/errors.ts";
import { jsonOrUndefined } from "../../../lib/json-or-undefined.ts";
import { keyOfTarget, type WrittenTarget, type WrittenTargets } from "./followed-targets.ts";
import type { LocalTarget } from "./local-targets.ts";
import type { Origin } from "../plan/origin.ts";

/** Link to the directory of the current version, as in the volumes of the kubelet. */
const DATA = "..data";
/** File in a version with the origins of its targets. It contains no value. */
const ORIGINS = "..origins.json";
/** Directories of versions, and links that are about to replace {@link DATA}. */
const OWN = /^\.\.[0-9a-f]{8}-[0-9a-f-]{27}(?:\.link)?$/u;

const optionalText = z.string().optional();
const optionalTime = z.number().optional();

const claim = z.object({
  version: z.int(),
  source: z.string(),
  createdAt: optionalTime,
  form: optionalText,
  found: optionalText,
});

const listed = z.object({
  name: z.string(),
  owner: optionalText,
  deleteAt: optionalTime,
  missingSince: optionalTime,
});

const origins = z.array(
  z.object({
    target: z.string(),
    synced: z.array(z.tuple([z.string(), claim])),
    sources: z.array(z.tuple([z.string(), listed])),
  }),
);

/** Formats the origins of targets. */
export const formatOrigins = (targets: readonly LocalTarget[]): string =>
  JSON.stringify(
    targets.map(({ resource, origin }) => ({
      target: keyOfTarget(resource),
      synced: [...origin.synced],
      sources: [...origin.sources],
    })),
  );

const nameOf = (key: string): string => key.slice(key.indexOf("/") + 1);

/** Returns what a promise resolves to; `undefined` if there is no such file. */
async function existing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (["ENOENT", "EINVAL"].includes(String(codeOf(error)))) return undefined;
    throw error;
  }
}

/**
 * A directory with the keys of targets as files `TARGET/KEY`. All of them are replaced in one step:
 * `TARGET` is a link into `..data`, and that a link to the directory of a version. Only one process
 * follows a vault in it.
 */
export class PublishedDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Returns the targets that the directory has; none if it has no readable version. */
  async read(): Promise<WrittenTargets> {
    const text = await existing(readFile(this.#join(DATA, ORIGINS), "utf8"));
    const written = new Map<string, WrittenTarget>();
    for (const one of origins.safeParse(jsonOrUndefined(text ?? "")).data ?? []) {
      const origin: Origin = { synced: new Map(one.synced), sources: new Map(one.sources) };
      const directory = this.#join(DATA, nameOf(one.target));
      const content = new Map<string, Uint8Array>();
      for (const key of (await existing(readdir(directory))) ?? [])
        content.set(key, await readFile(join(directory, key)));
      written.set(one.target, { content, origin });
    }
    return written;
  }

  /**
   * Replaces the content of the directory. Foreign files stay.
   * @throws Error when it cannot be written: then it has its earlier content
   */
  async publish(targets: readonly LocalTarget[]): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await this.#checkNames(targets);
    const before = await existing(readlink(this.#join(DATA)));
    const version = `..${randomUUID()}`;
    try {
      await this.#writeVersion(version, targets);
      // Synchronous: the end of this process removes the version before or after it, not in between.
      symlinkSync(version, this.#join(`${version}.link`));
      renameSync(this.#join(`${version}.link`), this.#join(DATA));
    } catch (error) {
      await rm(this.#join(`${version}.link`), { force: true });
      await rm(this.#join(version), { recursive: true, force: true });
      throw error;
    }
    await this.link(targets.map(({ resource }) => resource.target.name));
    if (before !== undefined && OWN.test(before))
      await rm(this.#join(before), { recursive: true, force: true });
  }

  /** Replaces the origins of the targets that the directory has. */
  async publishOrigins(targets: readonly LocalTarget[]): Promise<void> {
    const temporary = this.#join(DATA, `${ORIGINS}.${randomUUID()}`);
    try {
      await writeFile(temporary, formatOrigins(targets), { mode: 0o600, flag: "wx" });
      await rename(temporary, this.#join(DATA, ORIGINS));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Makes the links to these targets, and removes those to other ones. */
  async link(names: readonly string[]): Promise<void> {
    for (const name of names)
      if ((await this.#linked(name)) === undefined)
        await symlink(join(DATA, name), this.#join(name));
    for (const name of await readdir(this.path))
      if (!names.includes(name) && (await this.#linked(name)) === join(DATA, name))
        await rm(this.#join(name), { force: true });
  }

  /** Removes the versions that are not the current one, also half of one. */
  removeLeftovers(): void {
    try {
      const current = readlinkSync(this.#join(DATA), "utf8");
      this.#removeAllBut(current);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      this.#removeAllBut("");
    }
  }

  #removeAllBut(current: string): void {
    try {
      for (const name of readdirSync(this.path))
        if (OWN.test(name) && name !== current)
          rmSync(this.#join(name), { recursive: true, force: true });
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }

  async #writeVersion(version: string, targets: readonly LocalTarget[]): Promise<void> {
    const path = this.#join(version);
    await mkdir(path, { mode: 0o700 });
    for (const { resource, content } of targets) {
      const directory = join(path, resource.target.name);
      await mkdir(directory, { mode: 0o700 });
      for (const [key, bytes] of content)
        await writeFile(join(directory, key), bytes, { mode: 0o600, flag: "wx" });
    }
    await writeFile(join(path, ORIGINS), formatOrigins(targets), { mode: 0o600, flag: "wx" });
  }

  /** @throws Error when a foreign file has a name */
  async #checkNames(targets: readonly LocalTarget[]): Promise<void> {
    const names = await readdir(this.path);
    for (const { resource } of targets) {
      const { name } = resource.target;
      if (!names.includes(name) || (await this.#linked(name)) === join(DATA, name)) continue;
      throw new Error(
        `${this.#join(name)} is not of vaultsync render: remove it, or choose another directory`,
      );
    }
  }

  /** Returns what a link refers to; `undefined` for anything else. */
  #linked(name: string): Promise<string | undefined> {
    return existing(readlink(this.#join(name)));
  }

  #join(...names: readonly string[]): string {
    return join(this.path, ...names);
  }
}
