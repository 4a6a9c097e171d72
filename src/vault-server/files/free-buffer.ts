/**
 * Gives the memory of bytes that nobody will read again back at once, rather than when the collector next looks: a stream of big buffers
 * otherwise piles up by the dozens of megabytes. Bytes that share their buffer with others are left alone.
 */
export function release(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0);
}
