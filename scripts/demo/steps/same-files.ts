import type { UploadedFile } from "../vault-account.ts";
import type { Change } from "../cluster-view.ts";
import type { Stage } from "../stage.ts";
import { Step } from "../step.ts";

/** The bytes of the files at both ends, by what `sha256sum` would print. */
export async function sameFiles({ view, vault, signal }: Stage): Promise<void> {
  using step = new Step(
    view,
    {
      title: "2  Files: one text, one binary, in a ConfigMap",
      expected: "the ConfigMap web-files has each file under its name, with the sha256 that the vault gave at the upload",
      limitMs: 30_000,
    },
    signal,
  );
  await step.until("the ConfigMap web-files with these files", haveFiles(vault.content.files), 0);
  for (const { filename, size, sha256 } of vault.content.files) step.note(`${filename}  ${size} bytes  sha256 ${sha256}`);
  step.done(`${vault.content.files.length} files, sha256 equal at both ends`);
}

export function haveFiles(files: readonly UploadedFile[]): (change: Change) => boolean {
  return ({ type, object }) =>
    type !== "deleted" &&
    object.kind === "ConfigMap" &&
    object.name === "web-files" &&
    object.content.size === files.length &&
    files.every(({ filename, size, sha256 }) => {
      const print = object.content.get(filename);
      return print?.bytes === size && print.sha256 === sha256;
    });
}
