import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { ConsumerList } from "./consumer-list.tsx";
import { useConsumers } from "./use-consumers.ts";

/** Section of a secret's page with the resources that read it, if there are any. */
export function UsedBySection({ name }: { readonly name: string }): VNode | null {
  const names = useMemo(() => [name], [name]);
  const { consumers } = useConsumers({ kind: "secret", names });
  if (consumers.length === 0) return null;
  return (
    <section class="card" aria-labelledby="used-by-title">
      <h2 id="used-by-title">Used by</h2>
      <ConsumerList consumers={consumers} label="Used by" />
    </section>
  );
}

/** The resources that read a file, if there are any. */
export function FileUsedBy({ filename }: { readonly filename: string }): VNode | null {
  const names = useMemo(() => [filename], [filename]);
  const { consumers } = useConsumers({ kind: "file", names });
  if (consumers.length === 0) return null;
  return (
    <div>
      <p>
        <strong>Used by</strong>
      </p>
      <ConsumerList consumers={consumers} label={`Used by: ${filename}`} />
    </div>
  );
}
