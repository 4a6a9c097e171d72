import { hasFiles } from "../expectations.ts";
import { duration } from "../output.ts";
import type { Stage } from "../setup.ts";
import { runStep } from "../step.ts";
import { exampleFile } from "../vault-account.ts";

/** Compares the files in the ConfigMap with the vault's, by size and SHA-256. */
export async function syncedFiles(stage: Stage): Promise<void> {
  const { vault } = stage;
  const head = {
    title: "2  Files: one text, one binary, in a ConfigMap",
    expected:
      "the ConfigMap web-files contains each file under its name, with the sha256 that the vault returned at the upload",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    await step.until("the ConfigMap web-files with these files", hasFiles(vault.content.files), 0);
    for (const { filename, size, sha256 } of vault.content.files)
      step.detail(`${filename}  ${size} bytes  sha256 ${sha256}`);
    const names = vault.content.files.map(({ filename, size }) => `${filename} (${size} bytes)`);
    step.done(`${names.join(" and ")}: equal sha256 in the vault and in the ConfigMap`);
  });
}

/** Uploads a new version of a file. */
export async function uploadFile(stage: Stage): Promise<void> {
  const { view, vault } = stage;
  const head = {
    title: "6  A new version of a file",
    expected:
      "the ConfigMap contains the new app.conf within the refresh interval of 5 s; logo.png is unchanged",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const filename = "app.conf";
    const longer = new Blob([await exampleFile(filename), "workers = 4\n"]);
    const since = view.mark();
    const at = Date.now();
    const [uploaded] = (await vault.account.upload(new Map([[filename, longer]]))).files;
    if (uploaded === undefined)
      throw new Error("the vault's response to the upload contains no file");
    step.acted(
      `uploaded app.conf version ${uploaded.version}: ${uploaded.size} bytes, sha256 ${uploaded.sha256}`,
      at,
    );
    const files = vault.content.files.map((file) => (file.filename === filename ? uploaded : file));
    const synced = await step.until("the ConfigMap with the new file", hasFiles(files), since);
    step.done(`synced ${duration(synced.at - at)} after the upload`);
  });
}
