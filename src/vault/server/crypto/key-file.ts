import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { Redacted } from "../../../lib/redacted.ts";
import type { KeySource } from "./key-ring.ts";
import { KEY_BYTES, MasterKey } from "./master-key.ts";

function parseKey(text: string): MasterKey {
  const key = Buffer.from(text, "base64");
  if (key.length !== KEY_BYTES || key.toString("base64") !== text) {
    throw new Error(
      "invalid master key, expected 32 bytes in base64: create one with `vaultsync vault key generate FILE`",
    );
  }
  return new MasterKey(new Redacted(key));
}

function keyTexts(line: string): string[] {
  const [keys = ""] = line.split("#", 1);
  return keys
    .split(",")
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

/**
 * Parses keys in base64, one per line or separated by commas; `#` starts a comment. @throws Error
 * without quoting the text
 */
export function parseMasterKeys(text: string): MasterKey[] {
  const keys = text.split("\n").flatMap(keyTexts).map(parseKey);
  if (keys.length === 0)
    throw new Error("no master key: create one with `vaultsync vault key generate FILE`");
  return keys;
}

/** Owner and mode of a file. */
interface Ownership {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Creates a file that only its owner can read, and writes it to the disk.
 * @param prepare is called before the content is written
 */
function createSynced(path: string, content: string, prepare?: (file: number) => void): void {
  const file = openSync(path, "wx", 0o600);
  try {
    prepare?.(file);
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function writeSynced(path: string, content: string, { mode, uid, gid }: Ownership): void {
  rmSync(path, { force: true });
  createSynced(path, content, (file) => {
    // A server that runs as another user must still be able to read it.
    if (process.getuid?.() !== uid || process.getgid?.() !== gid) fchownSync(file, uid, gid);
    fchmodSync(file, mode & 0o777);
  });
}

function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Creates a file that only its owner can read, and that is there after a crash.
 * @throws Error when it exists or cannot be written
 */
export function createPrivateFile(path: string, content: string): void {
  createSynced(path, content);
  syncDirectory(dirname(path));
}

/** Replaces a file atomically, even across a crash. @throws Error when it cannot be written */
function replaceFile(path: string, content: string, ownership: Ownership): void {
  const temporary = `${path}.tmp`;
  try {
    writeSynced(temporary, content, ownership);
    renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function withoutKeys(text: string, drop: (id: string) => boolean): string {
  const kept = text.split("\n").flatMap((line) => {
    const texts = keyTexts(line);
    const left = texts.filter((key) => !drop(parseKey(key).id));
    if (left.length === texts.length) return [line];
    return left.length === 0 ? [] : [left.join(",")];
  });
  return kept.join("\n");
}

/**
 * A file of master keys. It is small and local, so it is read synchronously, even within a
 * transaction, when a key is missing. It is read only when it has changed: a row with a forged key
 * id costs no more than a `stat`.
 */
export class KeyFile implements KeySource {
  readonly path: string;
  #lastState = "";

  constructor(path: string) {
    this.path = path;
  }

  read(): readonly MasterKey[] | undefined {
    const { ino, size, mtimeNs, ctimeNs } = statSync(this.path, { bigint: true });
    const state = [ino, size, mtimeNs, ctimeNs].join(" ");
    if (state === this.#lastState) return undefined;
    const keys = parseMasterKeys(readFileSync(this.path, "utf8"));
    this.#lastState = state;
    return keys;
  }

  #replace(content: string): void {
    // A symbolic link is kept.
    replaceFile(realpathSync(this.path), content, statSync(this.path));
  }

  /** Appends a key unless the file has it. */
  add(key: Redacted<Uint8Array>): void {
    const text = readFileSync(this.path, "utf8");
    const { id } = new MasterKey(key);
    if (parseMasterKeys(text).some((known) => known.id === id)) return;
    const ended = text.endsWith("\n") || text === "" ? text : `${text}\n`;
    this.#replace(`${ended}${Buffer.from(key.reveal()).toString("base64")}\n`);
  }

  /**
   * Keeps only this key. Each other key is first written to a file next to it,
   * `<path>.<id>.retired`, because older backups need it. Returns the paths of those files.
   */
  retireAllBut(id: string): string[] {
    const text = readFileSync(this.path, "utf8");
    const others = text
      .split("\n")
      .flatMap(keyTexts)
      .filter((key) => parseKey(key).id !== id);
    const retired = others.map((key) => ({
      key,
      path: `${this.path}.${parseKey(key).id}.retired`,
    }));
    for (const { key, path } of retired)
      if (!existsSync(path)) replaceFile(path, `${key}\n`, statSync(this.path));
    if (retired.length > 0) this.#replace(withoutKeys(text, (key) => key !== id));
    return retired.map(({ path }) => path);
  }
}
