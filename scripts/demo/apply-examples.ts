import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { defaultVaultPort } from "./arguments.ts";
import { kubectl } from "./kubectl.ts";
import type { Stage } from "./stage.ts";

const root = join(import.meta.dirname, "..", "..");
const directory = join(root, "examples", "demo");

/** Applies one file of examples/demo, or all of them, as they are on disk. Only a vault on another port changes their text. */
export async function applyExamples({ controlPlane, options }: Stage, file = ""): Promise<void> {
  if (options.vaultPort === defaultVaultPort) {
    await kubectl(controlPlane, ["apply", "-f", join(directory, file)]);
    return;
  }
  const names = (await readdir(directory)).filter((name) => name.endsWith(".yaml") && name.includes(file)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  const address = `127.0.0.1:${options.vaultPort}`;
  await kubectl(controlPlane, ["apply", "-f", "-"], texts.join("---\n").replaceAll(`127.0.0.1:${defaultVaultPort}`, address));
}
