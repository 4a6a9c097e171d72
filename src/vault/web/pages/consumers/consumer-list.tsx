import type { VNode } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { parseConsumer } from "../../../../protocol/consumer.ts";
import type { ConsumerRecord } from "../../../../protocol/responses.ts";
import { NameText, Timestamp } from "../../parts/value-text.tsx";
import { useClient } from "../../session/client-context.ts";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/scroll-position.ts";
import { listConsumers, type OwnEntries } from "../../service/consumers.ts";

interface Consumers {
  /** None while they load and after a failure: they only inform. */
  readonly consumers: readonly ConsumerRecord[];
  readonly failed: boolean;
}

/** Fetches the resources that read some entries of the user. `names` keeps its identity. */
export function useConsumers({ kind, names }: OwnEntries): Consumers {
  const client = useClient();
  const { loaded, reload } = useLoaded(
    useCallback(() => listConsumers(client, { kind, names }), [client, kind, names]),
  );
  useReturn(useCallback(() => void reload(), [reload]));
  return {
    consumers: loaded.kind === "ready" ? loaded.value : [],
    failed: loaded.kind === "failed",
  };
}

/** Maximum number of consumers that a list shows. */
const SHOWN = 10;

/** The name of a consumer in words; a name of an unknown form unchanged. */
function ConsumerText({ consumer }: Pick<ConsumerRecord, "consumer">): VNode {
  const parsed = parseConsumer(consumer);
  if (parsed === undefined) return <span class="break">{consumer}</span>;
  const { cluster, namespace, kind, name } = parsed;
  return (
    <span class="break">
      <strong>
        {namespace}/{name}
      </strong>{" "}
      ({kind}), cluster {cluster}
    </span>
  );
}

interface ConsumerListProps {
  readonly consumers: readonly ConsumerRecord[];
  /** Label for screen readers. */
  readonly label: string;
  /** Names the entry that each has read. */
  readonly named?: boolean;
}

/** The resources that read an entry, each with its last read. */
export function ConsumerList({ consumers, label, named = false }: ConsumerListProps): VNode {
  const { email } = useClient();
  const more = consumers.length - SHOWN;
  return (
    <ul class="consumers" aria-label={label}>
      {consumers.slice(0, SHOWN).map(({ name, consumer, version, last_read_at: at, account }) => (
        <li key={`${consumer} ${account} ${name}`}>
          <ConsumerText consumer={consumer} />:{" "}
          {named && (
            <>
              <NameText name={name} />,{" "}
            </>
          )}
          version {version}, <Timestamp at={at} />
          {account !== email && <span class="break quiet"> as {account}</span>}
        </li>
      ))}
      {more > 0 && <li class="quiet">and {more} more</li>}
    </ul>
  );
}

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
