import { existsSync } from "node:fs";
import type { Command } from "commander";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { KeyFile, parseMasterKeys } from "../server/crypto/key-file.ts";
import type { MasterKey } from "../server/crypto/master-key.ts";
import { KeyRing } from "../server/crypto/key-ring.ts";
import type { MasterKeyFlags } from "./data-options.ts";
import { codeOf, messageOf } from "../../lib/errors.ts";

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 65_536;
/** Maximum length of the quoted line of standard error, in characters. */
const QUOTED_CHARACTERS = 200;

/**
 * Returns the first line with plain words only: any other one could be a key, whatever its
 * encoding.
 */
function wordsOf(output: string): string {
  const [line = ""] = output.trim().split("\n", 1);
  const words = line.slice(0, QUOTED_CHARACTERS).split(/\s+/u);
  return words
    .map((word) => (/^(?:[A-Z]{0,8}|[A-Z]?[a-z]{1,14})[.,:;!]?$/u.test(word) ? word : "…"))
    .join(" ");
}

/**
 * Runs a program once, without a shell, and returns the master keys that it prints.
 * @throws Error with its exit code and the plain words of the first line of its standard error;
 * never with what it printed
 */
export function masterKeysOfCommand(
  [program = "", ...args]: readonly string[],
  timeoutMs = TIMEOUT_MS,
): readonly MasterKey[] {
  const result = spawnSync(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  const failed = (what: string, cause?: unknown): Error =>
    new Error(`--master-key-command: ${program} ${what}`, { cause });
  const failure = failureOf(result, timeoutMs);
  if (failure !== undefined) throw failed(failure);
  try {
    return parseMasterKeys(result.stdout);
  } catch (cause) {
    throw failed(`printed no valid key: ${messageOf(cause)}`, cause);
  }
}

/** Returns what went wrong with the program, or `undefined`. */
function failureOf(
  { error, status, signal, stderr }: SpawnSyncReturns<string>,
  timeoutMs: number,
): string | undefined {
  const code = codeOf(error);
  if (code === "ETIMEDOUT") return `did not end within ${timeoutMs / 1000} s`;
  if (code === "ENOBUFS")
    return `printed more than ${MAX_OUTPUT_BYTES} bytes, expected a master key`;
  if (error) return `cannot be run: ${code ?? "unknown error"}`;
  if (status === 0) return undefined;
  const end = status === null ? (signal ?? "a signal") : `exit code ${status}`;
  const words = wordsOf(stderr);
  return `ended with ${end}${words === "" ? "" : `: ${words}`}`;
}

/**
 * Returns the master keys of a file, of a command or of the environment. The file may change while
 * a server runs; the command runs now.
 * @throws Error with a remedy
 */
export function masterKeys({
  masterKeyFile,
  masterKeyCommand,
}: MasterKeyFlags): KeyRing | undefined {
  if (masterKeyFile !== undefined) {
    if (!existsSync(masterKeyFile))
      throw new Error(`master key file not found: ${masterKeyFile} (--master-key-file)`);
    return new KeyRing(new KeyFile(masterKeyFile));
  }
  const text = process.env.VAULTSYNC_VAULT_MASTER_KEY;
  if (masterKeyCommand !== undefined) {
    if (text !== undefined)
      throw new Error(
        "--master-key-command and VAULTSYNC_VAULT_MASTER_KEY exclude each other: drop one of them",
      );
    const keys = masterKeysOfCommand(masterKeyCommand);
    return new KeyRing({ read: () => keys });
  }
  return text === undefined ? undefined : new KeyRing({ read: () => parseMasterKeys(text) });
}

/**
 * Returns the master key that authenticates a backup. @throws Error when it is not among the given
 * ones
 */
export function requireKey(keys: KeyRing, id: string): MasterKey {
  const key = keys.find(id);
  if (key) return key;
  throw new Error(
    `the data is encrypted under another master key, ${id}, than the given ones: add that key to the key file`,
  );
}

/**
 * Returns the keys that authenticate a backup, or `undefined` for an unauthenticated one. Without
 * either, ends with a usage error.
 */
export function authenticatingKeys(
  flags: MasterKeyFlags & { readonly unauthenticated?: boolean },
  command: Command,
): KeyRing | undefined {
  const keys = masterKeys(flags);
  if (keys || flags.unauthenticated === true) return keys;
  return command.error(
    "error: specify the master key that authenticates the backup with --master-key-file FILE or --master-key-command, or add --unauthenticated",
  );
}
