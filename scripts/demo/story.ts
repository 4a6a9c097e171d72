import { screen } from "./screen.ts";
import type { Stage } from "./stage.ts";
import { appear } from "./steps/appear.ts";
import { deletedSecret } from "./steps/deleted-secret.ts";
import { handEdit } from "./steps/hand-edit.ts";
import { newUpload } from "./steps/new-upload.ts";
import { newVersion } from "./steps/new-version.ts";
import { noValueTold } from "./steps/no-value-told.ts";
import { removal } from "./steps/removal.ts";
import { sameFiles } from "./steps/same-files.ts";
import { summary } from "./summary.ts";

/** The whole story, one step after the other. @throws StepFailure from the step that did not go as promised */
export async function tellStory(stage: Stage): Promise<void> {
  const guestPass = await appear(stage);
  await sameFiles(stage);
  showSummary(stage);
  const rotated = await newVersion(stage);
  await handEdit(stage, rotated);
  await deletedSecret(stage, rotated);
  await newUpload(stage);
  await removal(stage, guestPass);
  await noValueTold(stage, [...stage.vault.content.shopDb, rotated.value, guestPass.value]);
  showSummary(stage);
}

function showSummary({ view }: Stage): void {
  screen.note(`\n${summary(view)}`);
}
