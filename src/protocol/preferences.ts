/**
 * Maximum time in seconds that a list waits for a change
 * (docs/design/vault-contract.md#waiting-for-a-change).
 */
export const MAX_WAIT_SECONDS = 55;
