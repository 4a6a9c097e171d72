/** Maximum number of entity tags in `if-none-match` (docs/design/vault-contract.md#entity-tags). */
export const MAX_TAGS = 10;
