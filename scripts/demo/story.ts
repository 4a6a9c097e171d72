import { screen, summary } from "./output.ts";
import type { Stage } from "./setup.ts";
import { deleteTarget, editTarget } from "./steps/drift.ts";
import { syncedFiles, uploadFile } from "./steps/files.ts";
import { firstSync } from "./steps/first-sync.ts";
import { newVersion } from "./steps/new-version.ts";
import { noLeaks } from "./steps/no-leaks.ts";
import { removal } from "./steps/removal.ts";

/** Runs all steps in order. @throws StepFailure from the first step that fails */
export async function runStory(stage: Stage): Promise<void> {
  const guestPass = await firstSync(stage);
  await syncedFiles(stage);
  const rotated = await newVersion(stage);
  await editTarget(stage, rotated);
  await deleteTarget(stage, rotated);
  await uploadFile(stage);
  await removal(stage, guestPass);
  await noLeaks(stage, [...stage.vault.content.shopDb, rotated.value, guestPass.value]);
  screen.note(`\n${summary(stage.view)}`);
}
