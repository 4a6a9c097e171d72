import { spawnSync } from "node:child_process";
import { InvalidArgumentError, Option } from "commander";
import { codeOf } from "../../lib/error-code.ts";
import { parseMasterKeys } from "../server/crypto/key-file.ts";
import type { MasterKey } from "../server/crypto/master-key.ts";

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 65_536;
/** Maximum length of the quoted line of standard error, in characters. */
const QUOTED_CHARACTERS = 200;

const EXPECTED =
  "expected a program and its arguments, separated by spaces; no shell runs, so write arguments with spaces or quotes as a JSON array, " +
  'for example ["kms-decrypt","--file","my key"]';

function isCommand(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value[0] !== "" &&
    value.every((word) => typeof word === "string")
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses a program and its arguments: words separated by spaces, or a JSON array. @throws
 * InvalidArgumentError
 */
export function parseCommandLine(text: string): string[] {
  const trimmed = text.trim();
  const isPlain = !/["'`\\$|&;<>()*?]/u.test(trimmed) && !trimmed.startsWith("[");
  const command = isPlain ? trimmed.split(/\s+/u) : parseJson(trimmed);
  if (!isCommand(command)) throw new InvalidArgumentError(EXPECTED);
  return command;
}

/** Returns the option `--master-key-command`, whose value `masterKeys` runs. */
export function masterKeyCommandOption(): Option {
  return new Option(
    "--master-key-command <command>",
    "program that prints the master key, such as that of a KMS, instead of a file; it runs once, without a shell",
  )
    .env("VAULTSYNC_VAULT_MASTER_KEY_COMMAND")
    .argParser(parseCommandLine)
    .conflicts("masterKeyFile");
}

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
  const { error, status, signal, stdout, stderr } = spawnSync(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  const failed = (what: string): Error => new Error(`--master-key-command: ${program} ${what}`);
  if (codeOf(error) === "ETIMEDOUT") throw failed(`did not end within ${timeoutMs / 1000} s`);
  if (codeOf(error) === "ENOBUFS")
    throw failed(`printed more than ${MAX_OUTPUT_BYTES} bytes, expected a master key`);
  if (error) throw failed(`cannot be run: ${codeOf(error) ?? "unknown error"}`);
  if (status !== 0) {
    const words = wordsOf(stderr);
    throw failed(
      `ended with ${status === null ? (signal ?? "a signal") : `exit code ${status}`}${words === "" ? "" : `: ${words}`}`,
    );
  }
  try {
    return parseMasterKeys(stdout);
  } catch (cause) {
    throw new Error(
      `--master-key-command: ${program} printed no valid key: ${cause instanceof Error ? cause.message : ""}`,
      {
        cause,
      },
    );
  }
}
