import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { goTool } from "../tools/go-tool.ts";
import { rulesOf, type Part } from "./rules.ts";

const run = promisify(execFile);

/**
 * Runs promtool in a directory with the rule file of a part as `rules.yaml`, and with these files.
 * Returns what it printed.
 * @throws Error with its output when it fails
 */
export async function promtool(
  part: Part,
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "vaultsync-promtool-"));
  try {
    const all = { "rules.yaml": stringify(rulesOf(part)), ...files };
    for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text);
    const { stdout, stderr } = await run(await goTool("promtool"), args, { cwd: directory });
    return stdout + stderr;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
