import { createServer } from "node:net";
import { once } from "node:events";
import { z } from "zod";
import { Redacted } from "../../src/lib/redacted.ts";
import { Program } from "./program.ts";
import { codeOf } from "../../src/lib/error-code.ts";

/** The account in examples/demo/10-connection.yaml. */
export const account = "shop@example.com";

const Ready = z.object({ url: z.string(), users: z.array(z.object({ email: z.string(), password: z.string() })) });

export interface RunningVault {
  readonly program: Program;
  readonly url: string;
  readonly password: Redacted<string>;
}

/** @throws Error that says what to do when something else listens there */
export async function checkPortIsFree(port: number): Promise<void> {
  const probe = createServer();
  try {
    const listening = once(probe, "listening");
    probe.listen(port, "127.0.0.1");
    await listening;
  } catch (error) {
    const isTaken = codeOf(error) === "EADDRINUSE";
    const why = isTaken ? "is taken by another program" : "cannot be listened on";
    throw new Error(
      `The vault's address 127.0.0.1:${port} ${why}. End that program, or choose another port: npm run demo -- --vault-port 8201`,
      { cause: error },
    );
  }
  probe.close();
  await once(probe, "close");
}

/** Reads the JSON line that a throw-away vault prints when it is ready. */
export function parseReadyLine(line: string): { readonly url: string; readonly password: Redacted<string> } {
  const { url, users } = Ready.parse(JSON.parse(line));
  const user = users.find(({ email }) => email === account);
  if (user === undefined) throw new Error(`the vault has no account ${account}: start it with --dev --dev-users ${account}`);
  return { url, password: new Redacted(user.password) };
}

/** A throw-away vault in memory; its one account's password exists in its memory, in ours and in the cluster. */
export function vaultProgram(port: number, logFile: string): Program {
  return new Program("vault", ["vault", "serve", "--dev", "--dev-users", account, "--listen", `127.0.0.1:${port}`], logFile);
}

export async function vaultReady(program: Program): Promise<RunningVault> {
  return { program, ...(await program.answer("stdout", parseReadyLine)) };
}
