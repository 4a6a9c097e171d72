import { applyExamples } from "../apply-examples.ts";
import { defaultVaultPort } from "../arguments.ts";
import { becomesReady, holds } from "../expectations.ts";
import { fingerprint } from "../fingerprint.ts";
import { kubectl } from "../kubectl.ts";
import { loginSecret } from "../login-secret.ts";
import type { Stage } from "../stage.ts";
import { tellStep } from "../step.ts";
import { took } from "../style.ts";
import { newValue } from "../vault-content.ts";
import type { GuestPass } from "./removal.ts";

const resources = [
  { kind: "VaultConnection", name: "vault" },
  { kind: "VaultSecret", name: "shop-db" },
  { kind: "VaultSecret", name: "guest-pass" },
  { kind: "VaultFile", name: "web-files" },
];

/** From the first apply to all targets and conditions. Answers the secret whose minute has begun. */
export async function appear(stage: Stage): Promise<GuestPass> {
  const { view, controlPlane, vault, options } = stage;
  const head = {
    title: "1  kubectl apply -f examples/demo/",
    expected: "the Secrets shop-db and guest-pass hold the vault's bytes, and every resource becomes Ready",
    limitMs: 60_000,
  };
  return tellStep(stage, head, async (step) => {
    if (options.vaultPort !== defaultVaultPort) step.note(`the vault's port in the text is replaced by ${options.vaultPort}`);
    const since = view.mark();
    await applyExamples(stage, "00-namespace.yaml");
    await kubectl(controlPlane, ["create", "-f", "-"], loginSecret(vault.password));
    const guestPass = newValue();
    const { deleteAt } = await vault.account.protect("guest-pass", guestPass, { deleteTimeMinutes: 1 });
    step.did("the namespace and the Secret vault-login are there; the vault protects guest-pass with delete_time: 1 minute");
    await applyExamples(stage);

    const [first, latest] = vault.content.shopDb;
    if (first === undefined || latest === undefined) throw new Error("the vault was filled with two versions of shop-db");
    const expected = { "first-password": fingerprint(first.reveal()), password: fingerprint(latest.reveal()) };
    const shopDb = await step.until("the Secret shop-db", holds("Secret", "shop-db", expected), since);
    const code = { code: fingerprint(guestPass.reveal()) };
    await step.until("the Secret guest-pass", holds("Secret", "guest-pass", code), since);
    for (const { kind, name } of resources) await step.until(`${kind} ${name} Ready=True`, becomesReady(kind, name), since);
    const resource = await step.until(
      "the VaultSecret",
      ({ object }) => object.kind === "VaultSecret" && object.name === "shop-db",
      since,
    );
    step.done(`Secret shop-db ${took(shopDb.at - resource.at)} after its VaultSecret, the same bytes as in the vault`);
    return { value: guestPass, deleteAt, since };
  });
}
