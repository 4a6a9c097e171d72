import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { VaultClient } from "../test/support/vault/vault-client.ts";
import { attacks, type Attack, type Shot } from "./attack/attacks.ts";

/** Runs the attacks of bench/attack.ts, in a process of its own. Started by it, with the URL of the server as its argument. */
const [url = ""] = process.argv.slice(2);
/** First loopback address of the attackers; those of the clients are lower. */
const FIRST_ADDRESS = 100;
const DEAF_REQUESTS = 50;
/** Time for one request; the server closes connections earlier. */
const SHOT_MS = 5_000;
/** Number of responses by status, and of connections that the server closed. */
type Outcomes = Record<string, number>;

/** Sends a request and resolves with its outcome. */
async function fire(shot: Shot, agent: Agent, signal: AbortSignal): Promise<string> {
  const body = Buffer.from(shot.body);
  const headers = { "content-type": "application/json", "content-length": body.length, ...shot.headers };
  return new Promise((resolve) => {
    const request = httpRequest(url + shot.path, { method: "POST", headers, agent, signal }, (response) => {
      response.resume().once("close", () => resolve(String(response.statusCode)));
    });
    request.on("error", () => resolve("closed"));
    if (shot.withhold === undefined) request.end(body);
    else request.write(body.subarray(0, shot.withhold));
  });
}

/** Sends a request many times on one connection, without reading, until the server closes it. */
async function flood({ path, body }: Shot, address: string, signal: AbortSignal): Promise<string> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress: address }).pause();
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  const abort = (): void => void socket.destroy();
  signal.addEventListener("abort", abort);
  socket.on("error", () => undefined);
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  for (let sent = 0; sent < DEAF_REQUESTS; sent += 1) socket.write(head + body.toString());
  await closed;
  signal.removeEventListener("abort", abort);
  return "unread";
}

async function loop(shots: readonly (() => Shot)[], address: string, stop: AbortSignal, outcomes: Outcomes): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: address });
  for (let index = 0; !stop.aborted; index += 1) {
    const shot = shots[index % shots.length]!();
    const timeout = AbortSignal.any([stop, AbortSignal.timeout(SHOT_MS)]);
    const outcome = shot.deaf ? await flood(shot, address, timeout) : await fire(shot, agent, timeout);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  agent.destroy();
}

interface Prepared {
  readonly attack: Attack;
  readonly loops: readonly { readonly address: string; readonly shots: readonly (() => Shot)[] }[];
}

async function prepare(attack: Attack, index: number): Promise<Prepared> {
  const loops: Prepared["loops"][number][] = [];
  for (let number = 0; number < attack.loops; number += 1) {
    const account = new VaultClient(url, `attacker${number % 4}@example.com`);
    if (attack.finding > 3) await account.logIn(account.email);
    const address = `127.0.${index}.${FIRST_ADDRESS + number}`;
    loops.push({ address, shots: await attack.prepare(account, number) });
    // Stays below the request rate of an account.
    await sleep(attack.finding > 3 ? 200 : 0);
  }
  return { attack, loops };
}

const prepared: Prepared[] = [];
for (const [index, attack] of attacks.entries()) prepared.push(await prepare(attack, index));
process.send?.("ready");
for (;;) {
  const [message] = (await once(process, "message")) as [{ readonly findings: readonly number[] }];
  const stop = new AbortController();
  const outcomes: Record<number, Outcomes> = {};
  const running = prepared
    .filter(({ attack }) => message.findings.includes(attack.finding))
    .flatMap(({ attack, loops }) => {
      const own: Outcomes = (outcomes[attack.finding] = {});
      return loops.map(({ shots, address }) => loop(shots, address, stop.signal, own));
    });
  // The next message starts the count.
  await once(process, "message");
  for (const own of Object.values(outcomes)) for (const outcome of Object.keys(own)) delete own[outcome];
  await once(process, "message");
  process.send?.(outcomes);
  stop.abort();
  await Promise.all(running);
}
