/** Maximum size of a file, of a server with the usual limits. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
