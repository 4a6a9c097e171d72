/** Characters of a new password: shorter ones are too easily guessed, longer ones add nothing. */
export const passwordLength = { min: 12, max: 1024 } as const;
