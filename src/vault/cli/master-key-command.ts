import { spawnSync } from "node:child_process";
import { codeOf } from "../../lib/error-code.ts";
import { parseMasterKeys } from "../server/crypto/key-file.ts";
import type { MasterKey } from "../server/crypto/master-key.ts";

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
