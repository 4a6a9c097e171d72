import { setTimeout as sleep } from "node:timers/promises";
import { Program } from "./program.ts";

/** The port in the log line that says where the endpoints are. */
function portIn(line: string): number | undefined {
  if (!line.includes("/readyz")) return undefined;
  const fields: unknown = JSON.parse(line);
  return typeof fields === "object" && fields !== null && "port" in fields && typeof fields.port === "number"
    ? fields.port
    : undefined;
}

export function operatorProgram(kubeconfig: string, logFile: string): Program {
  // A vault by http on a loopback address is what --allow-http is for.
  const args = ["operator", "--kubeconfig", kubeconfig, "--allow-http", "--listen", "127.0.0.1:0"];
  return new Program("operator", args, logFile);
}

/** Resolves when /readyz says so, with the address of the endpoints. */
export async function operatorReady(program: Program, signal: AbortSignal): Promise<string> {
  const url = `http://127.0.0.1:${await program.answer("stderr", portIn)}`;
  for (;;) {
    const response = await fetch(`${url}/readyz`, { signal });
    await response.body?.cancel();
    if (response.ok) return url;
    await sleep(50, undefined, { signal });
  }
}
