import type { VNode } from "preact";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { revokeCredentials, type Credential } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { credentialName } from "./credential-item.tsx";

interface Words {
  readonly title: string;
  readonly confirm: string;
  readonly effect: string;
  readonly done: string;
}

function wordsOf(ending: readonly Credential[]): Words {
  const [first] = ending;
  const isToken = first?.kind === "token";
  const effect = isToken
    ? "Programs that use it are rejected immediately and need another token."
    : "It has to log in again.";
  if (first && ending.length === 1) {
    const name = credentialName(first);
    return isToken
      ? { title: `Revoke “${name}”?`, confirm: "Revoke", effect, done: `Revoked ${name}.` }
      : { title: `Log out “${name}”?`, confirm: "Log out", effect, done: `Logged out ${name}.` };
  }
  const count = ending.length;
  return isToken
    ? {
        title: "Revoke all API tokens?",
        confirm: "Revoke all",
        effect: "Programs that use them are rejected immediately.",
        done: `Revoked ${count} API tokens.`,
      }
    : {
        title: "Log out all other browsers?",
        confirm: "Log out all others",
        effect: "They have to log in again.",
        done: `Logged out ${count} browsers.`,
      };
}

interface EndCredentialsDialogProps {
  /** Sessions, or tokens. */
  readonly ending: readonly Credential[];
  readonly onEnded: () => Promise<void>;
  readonly onClose: () => void;
}

/** Ends sessions or API tokens after a question. */
export function EndCredentialsDialog({
  ending,
  onEnded,
  onClose,
}: EndCredentialsDialogProps): VNode {
  const client = useClient();
  const toast = useToast();
  const { title, confirm, effect, done } = wordsOf(ending);
  const end = async (): Promise<void> => {
    await revokeCredentials(
      client,
      ending.map(({ id }) => id),
    );
    toast(done);
    await onEnded();
  };
  return (
    <ConfirmDialog title={title} confirm={confirm} work={end} onClose={onClose}>
      <p>{effect}</p>
    </ConfirmDialog>
  );
}
