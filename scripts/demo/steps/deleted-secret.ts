import { holds, isDeleted } from "../expectations.ts";
import { kubectl } from "../kubectl.ts";
import { demoNamespace, type Stage } from "../stage.ts";
import { tellStep } from "../step.ts";
import { took } from "../style.ts";
import type { Rotated } from "./new-version.ts";

/** Somebody deletes the Secret. */
export async function deletedSecret(stage: Stage, { content }: Rotated): Promise<void> {
  const { view, controlPlane } = stage;
  const head = {
    title: "5  kubectl delete secret shop-db",
    expected: "the Secret is made again, with the same bytes",
    limitMs: 30_000,
  };
  return tellStep(stage, head, async (step) => {
    const since = view.mark();
    step.did("kubectl delete begins");
    await kubectl(controlPlane, ["delete", "secret", "shop-db", "-n", demoNamespace]);
    const gone = await step.until("the deletion itself", isDeleted("Secret", "shop-db"), since);
    const back = await step.until("the Secret shop-db as before", holds("Secret", "shop-db", content), gone.index + 1);
    step.done(`back ${took(back.at - gone.at)} after the deletion`);
  });
}
