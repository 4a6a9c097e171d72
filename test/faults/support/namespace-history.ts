import { request } from "node:https";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { collection, observedObject, type ObservedObject } from "../../lab/real/resources.ts";

const watchEvent = z.object({
  type: z.enum(["ADDED", "MODIFIED", "DELETED"]),
  object: observedObject,
});

interface Version {
  readonly object: ObservedObject;
  readonly deleted: boolean;
}

/**
 * Every version that the objects of a namespace have over time, from separate watches that pass no
 * proxy. It shows states that exist only for a short time.
 */
export class NamespaceHistory implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #namespace: string;
  readonly #versions = new Map<string, Version[]>();
  readonly #waiting = new Set<() => void>();
  readonly #ended = new AbortController();
  readonly #watches: Promise<void>[];

  constructor(plane: ControlPlane, namespace: string, kinds: readonly string[]) {
    this.#plane = plane;
    this.#namespace = namespace;
    this.#watches = kinds.map((kind) => this.#follow(kind));
  }

  /** Returns the current version; `undefined` if the object does not exist. */
  latest(kind: string, name: string): ObservedObject | undefined {
    const last = this.#versions.get(`${kind}/${name}`)?.at(-1);
    return last === undefined || last.deleted ? undefined : last.object;
  }

  /** Returns every version that exists or existed, without deletions. */
  versions(kind: string, name: string): ObservedObject[] {
    const all = this.#versions.get(`${kind}/${name}`) ?? [];
    return all.filter(({ deleted }) => !deleted).map(({ object }) => object);
  }

  /**
   * Returns the text of one key of a Secret in each different content over time: `absent` where the
   * Secret lacks the key, `deleted` after a deletion of the Secret.
   */
  values(name: string, key: string): string[] {
    const texts = (this.#versions.get(`Secret/${name}`) ?? []).map(({ object, deleted }) => {
      if (deleted) return "deleted";
      const encoded = object.data[key];
      return encoded === undefined ? "absent" : Buffer.from(encoded, "base64").toString();
    });
    return texts.filter((text, index) => text !== texts[index - 1]);
  }

  /**
   * Waits until the current version passes `test`, and returns it. @throws Error with the current
   * version after `withinMs`
   */
  until(
    kind: string,
    name: string,
    test: (object: ObservedObject) => boolean,
    withinMs = 120_000,
  ): Promise<ObservedObject> {
    const { promise, resolve, reject } = Promise.withResolvers<ObservedObject>();
    const check = (): void => {
      const object = this.latest(kind, name);
      if (object !== undefined && test(object)) resolve(object);
    };
    const expired = setTimeout(() => {
      const { status, metadata } = this.latest(kind, name) ?? {};
      const seen = JSON.stringify(status ?? metadata);
      reject(
        new Error(
          `timed out after ${withinMs} ms waiting for ${kind} ${name}; last status: ${seen}`,
        ),
      );
    }, withinMs);
    this.#waiting.add(check);
    check();
    return promise.finally(() => {
      clearTimeout(expired);
      this.#waiting.delete(check);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#watches);
  }

  async #follow(kind: string): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await this.#watch(kind, signal);
      } catch {
        // The API server restarts, or the history ends.
        await sleep(200, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Watches from the current state. That state arrives as additions. */
  async #watch(kind: string, signal: AbortSignal): Promise<void> {
    const { server, ca, token } = this.#plane.access;
    const url = new URL(`${collection(kind, this.#namespace)}?watch=1`, server);
    const sent = request(url, {
      ca,
      agent: false,
      signal,
      headers: { authorization: `Bearer ${token}` },
    }).end();
    const [response] = await once(sent, "response");
    if (response.statusCode !== 200) throw new Error(`watch ${kind}: ${response.statusCode}`);
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) {
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const event = watchEvent.parse(JSON.parse(line));
        this.#record(kind, { object: event.object, deleted: event.type === "DELETED" });
      }
    }
  }

  #record(kind: string, version: Version): void {
    const key = `${kind}/${version.object.metadata.name}`;
    const versions = this.#versions.get(key) ?? [];
    this.#versions.set(key, versions);
    const last = versions.at(-1)?.object.metadata;
    const repeated =
      last?.uid === version.object.metadata.uid &&
      last.resourceVersion === version.object.metadata.resourceVersion;
    if (repeated && !version.deleted) return;
    versions.push(version);
    for (const check of this.#waiting) check();
  }
}
