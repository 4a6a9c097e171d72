/** Maximum number of entity tags in `if-none-match` (docs/design/vault-contract.md#entity-tags). */
export const MAX_TAGS = 10;

/**
 * Maximum time in seconds that a list waits for a change
 * (docs/design/vault-contract.md#waiting-for-a-change).
 */
export const MAX_WAIT_SECONDS = 55;

/** Maximum size of a file, of a server with the usual limits. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Characters of a new password: shorter ones are too easily guessed, longer ones add nothing. */
export const passwordLength = { min: 12, max: 1024 } as const;
