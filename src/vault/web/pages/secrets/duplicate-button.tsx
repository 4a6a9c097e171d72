import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { navigate } from "../../routing/use-route.ts";
import { toRequestError } from "../../service/request-error.ts";
import { exposeLatest } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { useSecrets } from "./secrets-context.ts";

/** Starts a new secret with the value and the metadata of this one. The value is not shown. */
export function DuplicateButton({ secret }: { readonly secret: SecretRecord }): VNode {
  const client = useClient();
  const { draft } = useSecrets();
  const toast = useToast();
  const action = useAction();
  const duplicate = (): void =>
    void action.run(async () => {
      try {
        draft.current = await exposeLatest(client, secret);
        navigate({ page: "new-secret" });
      } catch (error) {
        toast(toRequestError(error).message, "bad");
      }
    });
  return (
    <button class="button" type="button" onClick={duplicate} aria-disabled={action.busy}>
      <Icon name="copy" />
      Duplicate
    </button>
  );
}
