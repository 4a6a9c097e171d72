import { haveFiles } from "../expectations.ts";
import type { Stage } from "../stage.ts";
import { tellStep } from "../step.ts";
import { took } from "../style.ts";
import { exampleFile } from "../vault-content.ts";

/** A file is uploaded again under its name. */
export async function newUpload(stage: Stage): Promise<void> {
  const { view, vault } = stage;
  const head = {
    title: "6  A new version of a file",
    expected: "the ConfigMap has the new app.conf within the refresh interval of 5 s, and logo.png as it was",
    limitMs: 30_000,
  };
  return tellStep(stage, head, async (step) => {
    const { filename, bytes } = await exampleFile("app.conf");
    const longer = Buffer.concat([bytes, Buffer.from("workers = 4\n")]);
    const since = view.mark();
    const at = Date.now();
    const [uploaded] = await vault.account.upload([{ filename, bytes: new Uint8Array(longer) }]);
    if (uploaded === undefined) throw new Error("the vault answers an upload with no file");
    step.did(`app.conf version ${uploaded.version} is uploaded: ${uploaded.size} bytes, sha256 ${uploaded.sha256}`, at);
    const files = vault.content.files.map((file) => (file.filename === filename ? uploaded : file));
    const followed = await step.until("the ConfigMap with the new file", haveFiles(files), since);
    step.done(`followed ${took(followed.at - at)} after the upload, sha256 equal at both ends`);
  });
}
