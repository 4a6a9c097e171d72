import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Lazy } from "../../parts/loaded-view.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { NewSecretForm } from "./new-secret-form.tsx";

const loadImportForm = async () => (await import("./import-form.tsx")).ImportForm;

/** Creates one secret, or several from an `.env` file. `query` is what the one starts with. */
export function NewSecretPage({ query }: { readonly query: string }): VNode {
  const [several, setSeveral] = useState(false);
  return (
    <>
      <PageHeading title={several ? "Import secrets" : "New secret"}>
        <button class="button" type="button" onClick={() => setSeveral(!several)}>
          {several ? "Create one secret" : "Import a .env file"}
        </button>
      </PageHeading>
      <div class="card narrow" hidden={several}>
        <NewSecretForm query={query} />
      </div>
      {several && (
        <div class="card narrow">
          <Lazy load={loadImportForm} props={{}} />
        </div>
      )}
    </>
  );
}
