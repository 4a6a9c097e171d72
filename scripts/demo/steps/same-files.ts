import { haveFiles } from "../expectations.ts";
import type { Stage } from "../stage.ts";
import { tellStep } from "../step.ts";

/** The bytes of the files at both ends, by what `sha256sum` would print. */
export async function sameFiles(stage: Stage): Promise<void> {
  const { vault } = stage;
  const head = {
    title: "2  Files: one text, one binary, in a ConfigMap",
    expected: "the ConfigMap web-files has each file under its name, with the sha256 that the vault gave at the upload",
    limitMs: 30_000,
  };
  return tellStep(stage, head, async (step) => {
    await step.until("the ConfigMap web-files with these files", haveFiles(vault.content.files), 0);
    for (const { filename, size, sha256 } of vault.content.files) step.note(`${filename}  ${size} bytes  sha256 ${sha256}`);
    step.done(`${vault.content.files.length} files, sha256 equal at both ends`);
  });
}
