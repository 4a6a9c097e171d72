import type { VNode } from "preact";
import { parseConsumer } from "../../../../protocol/consumer.ts";
import type { ConsumerRecord } from "../../../../protocol/responses.ts";
import { NameText, Timestamp } from "../../parts/value-text.tsx";
import { useClient } from "../../session/client-context.ts";

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
        <li key={`${consumer} ${name}`}>
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
