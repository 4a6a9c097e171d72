/** Samples of an operator that serves nothing. */
export const NO_SAMPLES = {
  connections: [],
  queues: [],
  resources: [],
  conditions: [],
  shards: { configured: 1, led: 0 },
  namespaces: new Map(),
};
