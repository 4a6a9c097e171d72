/** Returns a number of secrets in words: `1 secret`, `2 secrets`. */
export const secretCount = (count: number): string => `${count} secret${count === 1 ? "" : "s"}`;
