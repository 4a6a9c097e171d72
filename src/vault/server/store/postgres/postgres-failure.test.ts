import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../../../test/lab/assertions/failure-of.ts";
import { StoreUnavailableError } from "../store.ts";
import { openPostgresStore } from "./postgres-store.ts";

/**
 * Starts a server that ends each connection like this after the first message of the client;
 * returns the URL of a database.
 */
async function serverThat(end: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => end(socket));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  return `postgres://vault:canary-password@127.0.0.1:${typeof address === "object" ? address?.port : ""}/vault`;
}

/** Sends an ErrorResponse (PostgreSQL, "Message Formats"). */
const reject =
  (code: string) =>
  (socket: Socket): void => {
    const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mmessage\0\0`);
    const length = Buffer.alloc(4);
    length.writeInt32BE(fields.length + 4);
    socket.end(Buffer.concat([Buffer.from("E"), length, fields]));
  };

const PLACE = /the PostgreSQL database vault at 127\.0\.0\.1:\d+/u.source;

test.each<[string, (socket: Socket) => void, string]>([
  ["starts up (57P03)", reject("57P03"), "is starting or stopping"],
  ["shuts down (57P01)", reject("57P01"), "refused the connection"],
  [
    "has too many clients (53300)",
    reject("53300"),
    "has no free connection: raise max_connections, or run fewer servers",
  ],
  ["resets the connection", (socket) => socket.resetAndDestroy(), ""],
  ["closes the connection", (socket) => socket.end(), ""],
])("a database that %s is unavailable for now", async (_, end, message) => {
  const error = await failureOf(openPostgresStore(await serverThat(end)));
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(String(error)).toMatch(new RegExp(`${PLACE}.*${message}`, "u"));
  expect(String(error)).not.toContain("canary");
});

test("a database that nothing listens for is unavailable for now", async () => {
  const error = await failureOf(openPostgresStore("postgres://u@127.0.0.1:1/vault"));
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(String(error)).toContain("cannot connect to the PostgreSQL database vault at 127.0.0.1:1");
});

test.each<[string, (socket: Socket) => void, string]>([
  ["rejects the password", reject("28P01"), "rejected the user: set PGPASSWORD or PGPASSFILE"],
  ["rejects the user", reject("28000"), "rejected the user: set PGPASSWORD or PGPASSFILE"],
  ["has another name", reject("3D000"), "does not exist: create it, with ENCODING 'UTF8'"],
  ["denies the connection", reject("42501"), "refused the connection"],
])("a database that %s is a wrong configuration", async (_, end, message) => {
  const error = await failureOf(openPostgresStore(await serverThat(end)));
  expect(error).not.toBeInstanceOf(StoreUnavailableError);
  expect(String(error)).toMatch(new RegExp(`${PLACE}.*${message}`, "u"));
});

test("a server without TLS is a wrong configuration if the URL requires it", async () => {
  const url = await serverThat((socket) => socket.write("N"));
  expect(await failureOf(openPostgresStore(`${url}?sslmode=verify-full`))).not.toBeInstanceOf(
    StoreUnavailableError,
  );
});
