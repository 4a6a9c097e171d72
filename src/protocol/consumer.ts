/** The resource of a cluster that reads a value, as the header `vaultsync-consumer` names it. */
export interface ConsumerName {
  readonly cluster: string;
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/** Longest name of a consumer that a server records. */
export const MAX_CONSUMER_CHARACTERS = 200;

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const DNS_NAME = `${LABEL}(?:\\.${LABEL})*`;
const CONSUMER = new RegExp(`^(${DNS_NAME})/(${LABEL})/([A-Z][A-Za-z0-9]*)/(${DNS_NAME})$`, "u");

/**
 * Parses `cluster/namespace/Kind/name`; returns `undefined` for any other text. Nothing proves what
 * a client says about itself: the parts have no character that a page or a log could take for
 * another.
 */
export function parseConsumer(text: string): ConsumerName | undefined {
  if (text.length > MAX_CONSUMER_CHARACTERS) return undefined;
  const [, cluster, namespace, kind, name] = CONSUMER.exec(text) ?? [];
  if (cluster === undefined || namespace === undefined || kind === undefined || name === undefined)
    return undefined;
  return { cluster, namespace, kind, name };
}
