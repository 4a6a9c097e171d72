import { Agent, request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { operationPath, type Operation } from "../../../src/protocol/operations.ts";

export interface ClientAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  // oxlint-disable-next-line typescript/no-explicit-any -- assertions look into it
  json(): any;
}

/** Everything, for `generate_access_token`. */
export const EVERYTHING = "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*";

/** One client of a vault, on one connection that it keeps; for loads and measurements, also outside of vitest. */
export class VaultClient implements Disposable {
  readonly email: string;
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #token = "";

  constructor(url: string, email: string) {
    this.#url = url;
    this.email = email;
  }

  /** The same account and token elsewhere: after a restart, for one. */
  movedTo(url: string): VaultClient {
    const moved = new VaultClient(url, this.email);
    moved.#token = this.#token;
    return moved;
  }

  async send(method: string, path: string, headers: OutgoingHttpHeaders, body: string | Uint8Array): Promise<ClientAnswer> {
    const length = { "content-length": Buffer.byteLength(body) };
    const { promise, resolve, reject } = Promise.withResolvers<ClientAnswer>();
    const request = httpRequest(
      this.#url + path,
      { method, agent: this.#agent, headers: { ...headers, ...length } },
      (response) => {
        buffer(response).then((bytes) => {
          const { statusCode: status = 0, headers: answered } = response;
          resolve({ status, headers: answered, bytes, json: () => JSON.parse(bytes.toString()) });
        }, reject);
      },
    );
    request.on("error", reject);
    request.end(body);
    return promise;
  }

  call(operation: Operation, body: object = {}, headers: OutgoingHttpHeaders = {}): Promise<ClientAnswer> {
    const all = { "content-type": "application/json", authorization: this.#token, ...headers };
    return this.send("POST", operationPath[operation], all, JSON.stringify({ email: this.email, ...body }));
  }

  upload(filename: string, bytes: Uint8Array): Promise<ClientAnswer> {
    const head = `--b\r\nContent-Disposition: form-data; name="f"; filename="${filename}"\r\n\r\n`;
    const headers = {
      "content-type": "multipart/form-data; boundary=b",
      authorization: this.#token,
      email: this.email,
      countoffiles: "1",
    };
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from("\r\n--b--\r\n")]);
    return this.send("POST", operationPath.protect_file, headers, body);
  }

  /** Gets and keeps a token. */
  async logIn(password: string): Promise<ClientAnswer> {
    const answer = await this.call("generate_access_token", { password, scope: EVERYTHING, expiration_hours: 24 });
    if (answer.status === 200) this.#token = answer.json().access_token;
    return answer;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
