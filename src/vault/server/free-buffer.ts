/**
 * Frees the memory of bytes immediately instead of at the next garbage collection: otherwise a
 * stream of large buffers accumulates dozens of megabytes. Bytes that share their buffer with
 * others are not freed.
 */
export function freeBuffer(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0);
}
