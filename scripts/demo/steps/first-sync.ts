import { defaultVaultPort } from "../arguments.ts";
import { hasContent, isReady } from "../expectations.ts";
import { fingerprint } from "../fingerprint.ts";
import { kubectl, loginSecret } from "../kubectl.ts";
import { duration } from "../output.ts";
import { applyExamples, type Stage } from "../setup.ts";
import { runStep } from "../step.ts";
import { newValue, protectValue } from "../vault-account.ts";
import type { GuestPass } from "./removal.ts";

const resources = [
  { kind: "VaultConnection", name: "vault" },
  { kind: "VaultSecret", name: "shop-db" },
  { kind: "VaultSecret", name: "guest-pass" },
  { kind: "VaultFile", name: "web-files" },
];

/**
 * Applies the examples and waits for all targets and conditions. Returns the secret whose deadline
 * is one minute later.
 */
export async function firstSync(stage: Stage): Promise<GuestPass> {
  const { view, controlPlane, vault, options } = stage;
  const head = {
    title: "1  kubectl apply -f examples/demo/",
    expected:
      "the Secrets shop-db and guest-pass contain the vault's bytes, and every resource becomes Ready",
    limitMs: 60_000,
  };
  return runStep(stage, head, async (step) => {
    if (options.vaultPort !== defaultVaultPort)
      step.detail(`the vault's port in the text is replaced by ${options.vaultPort}`);
    const since = view.mark();
    await applyExamples(stage, "00-namespace.yaml");
    await kubectl(controlPlane, ["create", "-f", "-"], loginSecret(vault.password));
    const guestPass = newValue();
    const { deleteAt } = await protectValue(vault.account, "guest-pass", guestPass, 1);
    step.acted(
      "created the namespace and the Secret vault-login; the vault protects guest-pass with delete_time: 1 minute",
    );
    await applyExamples(stage);

    const [first, latest] = vault.content.shopDb;
    if (first === undefined || latest === undefined)
      throw new Error("expected two versions of shop-db in the vault");
    const expected = {
      "first-password": fingerprint(first.reveal()),
      password: fingerprint(latest.reveal()),
    };
    const shopDb = await step.until(
      "the Secret shop-db",
      hasContent("Secret", "shop-db", expected),
      since,
    );
    const code = { code: fingerprint(guestPass.reveal()) };
    await step.until("the Secret guest-pass", hasContent("Secret", "guest-pass", code), since);
    for (const { kind, name } of resources)
      await step.until(`${kind} ${name} Ready=True`, isReady(kind, name), since);
    const resource = await step.until(
      "the VaultSecret",
      ({ object }) => object.kind === "VaultSecret" && object.name === "shop-db",
      since,
    );
    step.done(
      `Secret shop-db created ${duration(shopDb.at - resource.at)} after its VaultSecret, with the vault's bytes`,
    );
    return { value: guestPass, deleteAt, since };
  });
}
