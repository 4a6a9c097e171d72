import { expect, test } from "vitest";
import { MasterKey } from "../server/crypto/master-key.ts";
import { Redacted } from "../../lib/redacted.ts";
import { parseCommandLine } from "./data-options.ts";
import { masterKeysOfCommand } from "./master-keys.ts";

const keys = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)] as const;
const texts = keys.map((key) => key.toString("base64"));
const ids = keys.map((key) => new MasterKey(new Redacted<Uint8Array>(key)).id);

/** A command that runs a script of Node. */
const script = (text: string): string[] => [process.execPath, "-e", text];
const failureOf = (command: readonly string[], timeoutMs?: number): string => {
  try {
    masterKeysOfCommand(command, timeoutMs);
  } catch (error) {
    return String(error);
  }
  return "no failure";
};

test("masterKeysOfCommand returns every key that the command prints", () => {
  const printed = masterKeysOfCommand(
    script(`console.log("# by the KMS\\n${texts[0]},\\n${texts[1]}")`),
  );
  expect(printed.map(({ id }) => id)).toEqual(ids);
});

test("a master key command runs without a shell and gets its arguments unchanged", () => {
  const print = `console.log(process.argv[1] === "$HOME; *" ? "${texts[0]}" : "")`;
  expect(masterKeysOfCommand([...script(print), "$HOME; *"])).toHaveLength(1);
});

test("the failure of a master key command names the exit code and elides all but plain words", () => {
  const words = `An error occurred (AccessDenied) calling Decrypt: ${texts[0]} is not allowed ${keys[0].toString("hex")}`;
  const failure = failureOf(
    script(`console.error("${words}\\nsecond line"); console.log("${texts[1]}"); process.exit(3)`),
  );
  expect(failure).toContain("exit code 3");
  expect(failure).toContain("An error occurred … calling Decrypt: … is not allowed …");
  for (const secret of [...texts, keys[0].toString("hex"), "second"])
    expect(failure).not.toContain(secret);
});

test.each([
  ["prints no key", script(""), "no master key"],
  ["prints half a key", script(`console.log("${texts[0]?.slice(0, 20)}")`), "32 bytes in base64"],
  ["does not exist", ["/nowhere/to-be-found"], "ENOENT"],
  ["prints too much", script(`process.stdout.write("a".repeat(1e6))`), "more than 65536 bytes"],
  ["is killed", script(`process.kill(process.pid, "SIGTERM")`), "SIGTERM"],
])("a master key command that %s is an error that names the flag", (_what, command, reason) => {
  const failure = failureOf(command);
  expect(failure).toContain("--master-key-command");
  expect(failure).toContain(reason);
  expect(failure).not.toContain(texts[0]?.slice(0, 20));
});

test("a master key command that does not end is killed, also one that ignores SIGTERM", () => {
  const stays = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)`;
  expect(failureOf(script(stays), 300)).toContain("did not end within 0.3 s");
});

test("parseCommandLine splits at spaces, takes a JSON array, and rejects what needs a shell", () => {
  expect(parseCommandLine("aws kms  decrypt --output text")).toEqual([
    "aws",
    "kms",
    "decrypt",
    "--output",
    "text",
  ]);
  expect(parseCommandLine('["unwrap", "a key"]')).toEqual(["unwrap", "a key"]);
  for (const text of [
    "",
    " ",
    "cat 'a b'",
    "cat key | base64",
    "cat $KEY",
    "[]",
    '["a", 1]',
    '["a"',
    '[""]',
  ]) {
    expect(() => parseCommandLine(text)).toThrow("JSON array");
  }
});
