import type { Redacted } from "../../../src/lib/redacted.ts";
import { hasContent } from "../expectations.ts";
import { fingerprint, formatFingerprint, type Fingerprint } from "../fingerprint.ts";
import { duration } from "../output.ts";
import type { Stage } from "../setup.ts";
import { runStep } from "../step.ts";
import { newValue, protectValue } from "../vault-account.ts";

/** The secret shop-db after its new version. */
export interface Rotated {
  readonly value: Redacted<string>;
  /** The content of the Secret shop-db from now on. */
  readonly content: Readonly<Record<string, Fingerprint>>;
}

/** Protects a new version of a secret. Returns the Secret's content from then on. */
export async function newVersion(stage: Stage): Promise<Rotated> {
  const { view, vault } = stage;
  const head = {
    title: "3  A new version in the vault",
    expected:
      "password follows within the refresh interval of 5 s; first-password is pinned to version 1 and unchanged",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const [first] = vault.content.shopDb;
    if (first === undefined) throw new Error("expected two versions of shop-db in the vault");
    const value = newValue();
    const since = view.mark();
    const at = Date.now();
    const { version } = await protectValue(vault.account, "shop-db", value);
    step.acted(
      `the vault protects shop-db version ${version}: ${formatFingerprint(fingerprint(value.reveal()))}`,
      at,
    );
    const content = {
      "first-password": fingerprint(first.reveal()),
      password: fingerprint(value.reveal()),
    };
    const synced = await step.until(
      "the Secret shop-db with the new version",
      hasContent("Secret", "shop-db", content),
      since,
    );
    step.done(
      `synced ${duration(synced.at - at)} after the change in the vault; the pinned key is unchanged`,
    );
    return { value, content };
  });
}
