import type { Redacted } from "../../../src/lib/redacted.ts";
import { holds } from "../expectations.ts";
import { fingerprint, showPrint, type Fingerprint } from "../fingerprint.ts";
import type { Stage } from "../stage.ts";
import { tellStep } from "../step.ts";
import { took } from "../style.ts";
import { newValue } from "../vault-content.ts";

export interface Rotated {
  readonly value: Redacted<string>;
  /** What the Secret shop-db holds from now on. */
  readonly content: Readonly<Record<string, Fingerprint>>;
}

/** A secret is protected again. Answers what the Secret holds from then on. */
export async function newVersion(stage: Stage): Promise<Rotated> {
  const { view, vault } = stage;
  const head = {
    title: "3  A new version in the vault",
    expected: "password follows within the refresh interval of 5 s; first-password is pinned to version 1 and stays",
    limitMs: 30_000,
  };
  return tellStep(stage, head, async (step) => {
    const [first] = vault.content.shopDb;
    if (first === undefined) throw new Error("the vault was filled with two versions of shop-db");
    const value = newValue();
    const since = view.mark();
    const at = Date.now();
    const { version } = await vault.account.protect("shop-db", value);
    step.did(`the vault protects shop-db version ${version}: ${showPrint(fingerprint(value.reveal()))}`, at);
    const content = { "first-password": fingerprint(first.reveal()), password: fingerprint(value.reveal()) };
    const followed = await step.until("the Secret shop-db with the new version", holds("Secret", "shop-db", content), since);
    step.done(`followed ${took(followed.at - at)} after the vault's change`);
    return { value, content };
  });
}
