/**
 * All modules that the program starts as threads, for the one bundle of an executable; see
 * `startThread`.
 */
import "../src/operator/sync/check-value-aside.ts";
import "../src/operator/template/render-aside.ts";
import "../src/operator/vault-client/mirror/list-reader.ts";
