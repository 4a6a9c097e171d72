import type { VNode } from "preact";
import { FailureNote, Empty } from "../../parts/notes.tsx";
import { hrefOf } from "../../routing/route.ts";
import type { RequestError } from "../../service/request-error.ts";
import { useClient } from "../../session/client-context.ts";
import { NewVersionForm } from "./new-version-form.tsx";

interface UnreadableSecretProps {
  readonly owner: string;
  readonly name: string;
  readonly failure: RequestError;
  readonly onRetry: () => Promise<void>;
}

/**
 * Shown to a user who may write a secret but not list or read it
 * (docs/design/vault-contract.md#permissions).
 */
function WriteOnlySecret({ owner, name }: Pick<UnreadableSecretProps, "owner" | "name">): VNode {
  return (
    <section class="card narrow" aria-labelledby="write-title">
      <h2 id="write-title">Write-only access</h2>
      <p class="quiet">
        <span class="break">{owner}</span> lets you replace the value of this secret. You cannot see
        the value, and the secret is not in your list: keep the link to this page.
      </p>
      <NewVersionForm access={{ owner, key_name: name, shared: true }} />
    </section>
  );
}

function MissingSecret({ owner }: Pick<UnreadableSecretProps, "owner">): VNode {
  const { email } = useClient();
  const own = owner === email;
  return (
    <Empty
      icon="search"
      title={own ? "You have no such secret" : "This secret is not shared with you"}
    >
      <p>
        {own
          ? "It was deleted, or the link to it is incomplete."
          : `Either ${owner} has no secret of this name, or has not shared it with you, or has stopped sharing it. Ask them.`}
      </p>
      <a href={hrefOf({ page: "secrets" })}>Go to your secrets</a>
    </Empty>
  );
}

/** Content of a secret's page without the secret: says why, and what the user can still do. */
export function UnreadableSecret({ owner, name, failure, onRetry }: UnreadableSecretProps): VNode {
  if (failure.code === "forbidden") return <WriteOnlySecret owner={owner} name={name} />;
  if (failure.code === "secret_not_found") return <MissingSecret owner={owner} />;
  return (
    <div class="failed">
      <FailureNote failure={failure} />
      <button class="button" type="button" onClick={() => void onRetry()}>
        Try again
      </button>
    </div>
  );
}
