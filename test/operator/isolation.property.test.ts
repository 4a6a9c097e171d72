import * as fc from "fast-check";
import { expect, test } from "vitest";
import { passwordIn, SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { OPERATOR_NAMESPACE } from "../lab/simulated/simulated-operator.ts";
import {
  type Command,
  commands,
  NAMES,
  NAMESPACES,
  RULE,
  topology,
  accountFor,
  connectionOf,
  hasRight,
  keyOfResource,
  type ModelConnection,
  type ModelResource,
  type ModelState,
  rightOf,
  specOf,
} from "../lab/simulated/isolation.ts";
import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import { type KubeObject, type ObjectRef, SECRETS } from "../../src/operator/kube/resource.ts";

/**
 * Time in milliseconds for which a request may follow a state that the watches do not show any
 * more.
 */
const LAG_MS = 100;
/** Time in milliseconds that a read of a value takes: access changes during reads. */
const READ_MS = 300;
/** Time in milliseconds after which every effect of a command has happened. */
const SETTLE_MS = 12_000;

const sameConnection = (one: ObjectRef, { namespace: of, name }: ObjectRef): boolean =>
  one.namespace === of && one.name === name;
const targetOf = ({ kind, name }: Pick<ModelResource, "kind" | "name">): string =>
  `${kind}-${name}`;
const kindOf = (kind: ModelResource["kind"]) =>
  kind === "secret" ? vaultSecretKind : vaultFileKind;
/** The account name "own" stands for the name of the connection itself. */
const named = ({ connection, account: name, access }: ModelConnection): ModelConnection => ({
  connection,
  account: name === "own" ? connection.name : name,
  access,
});

/**
 * A running operator, the model of its cluster, and a record of everything that it had no right to.
 */
class Isolation {
  readonly scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  readonly violations: string[] = [];
  state: ModelState;
  /** Times in which the operator stopped. */
  readonly #stops: { readonly from: number; to: number }[] = [];
  /** States of the model, each until it was replaced; the last one is the current one. */
  readonly #history: { readonly state: ModelState; until: number }[] = [];

  constructor() {
    for (const name of NAMESPACES) this.scene.namespace(name);
    this.scene.vault().network = {
      send: async ({ operation }, signal) => {
        if (operation.includes("expose")) await this.scene.clock.sleep(READ_MS, signal);
        return undefined;
      },
    };
    this.state = { labels: new Map(), connections: [], resources: [] };
    this.#history.push({ state: this.state, until: Infinity });
    this.scene.server.onCommit(({ resource, before, after, user }) => {
      if (user === "operator" && resource.plural === SECRETS.plural && after !== undefined)
        this.#checkWrite(after, before);
    });
    const all = NAMESPACES.flatMap((of) => [{ namespace: of }, {}]).flatMap((place) =>
      ["one", "two"].map((name) => ({ ...place, name })),
    );
    for (const connection of all) {
      for (const name of ["own", "other"])
        this.#fillAccount(named({ connection, account: name, access: [] }));
    }
    this.scene.start();
  }

  async execute(next: Command): Promise<void> {
    switch (next.do) {
      case "label":
        this.scene.label(next.namespace, next.labels);
        return this.#change({
          labels: new Map(this.state.labels).set(next.namespace, next.labels),
        });
      case "connect":
        return this.#connect(named(next.connection));
      case "disconnect":
        return this.#disconnect(next.connection);
      case "follow":
        return this.#follow(next.resource);
      case "delete":
        return this.#delete(next.resource);
      case "write":
        for (const connection of this.state.connections)
          this.#write(accountFor(connection), next.names);
        return undefined;
      case "restart":
        return this.#restart();
      case "wait":
        return this.scene.settle(next.ms);
    }
  }

  /** Returns the requests and logins that no resource or connection had a right to. */
  check(): void {
    for (const { at, operation, account: email, name, password } of this.scene.vault().calls) {
      const states = this.#statesAt(at);
      if (name !== undefined && !states.some((state) => hasRight(state, email, name)))
        this.violations.push(`${operation} of ${name} as ${email} at ${at}`);
      if (password !== undefined && password !== passwordOf(email))
        this.violations.push(`login as ${email} with ${password}`);
    }
    this.scene.vault().calls.length = 0;
  }

  /**
   * Returns the resources that do not have the state that their rights imply, after a settled time.
   */
  unsettled(): string[] {
    // Which names a rule has found before depends on more than the state.
    const fixed = this.state.resources.filter(({ isFound = false }) => !isFound);
    return fixed.flatMap((resource) => {
      const { namespace: of, name, kind } = resource;
      const condition = this.scene.conditionOf(kindOf(kind), {
        namespace: of,
        name: `${kind}-${name}`,
      });
      const right = rightOf(this.state, resource);
      const wanted =
        right !== undefined
          ? "Synced"
          : connectionOf(this.state, resource)
            ? "NamespaceNotAllowed"
            : "ConnectionNotFound";
      const problem =
        condition?.reason === wanted
          ? this.#wrongValue(resource, right)
          : `${condition?.reason}, not ${wanted}`;
      return problem === undefined ? [] : [`${keyOfResource(resource)}: ${problem}`];
    });
  }

  #wrongValue(resource: ModelResource, right: string | undefined): string | undefined {
    if (right === undefined) return undefined;
    const target = this.scene.server.find(SECRETS, {
      namespace: resource.namespace,
      name: targetOf(resource),
    });
    const values =
      target === undefined ? [] : valuesOf(target).map(({ account: of, name }) => `${of} ${name}`);
    const expected = resource.names.map((name) => `${right} ${name}`);
    return values.sort().join() === expected.sort().join() ? undefined : `has ${values.join()}`;
  }

  #fillAccount(connection: ModelConnection): void {
    const email = accountFor(connection);
    this.scene.vault().setPassword(email, passwordOf(email));
    this.#write(email, NAMES);
  }

  #write(email: string, names: readonly string[]): void {
    for (const name of names) {
      this.scene.vault().writeAs(email, [name]);
      this.scene.vault().upload(email, name, Buffer.from(`${email} ${name} file`));
    }
  }

  #connect(connection: ModelConnection): void {
    const spec =
      connection.connection.namespace === undefined
        ? { access: connection.access.map(specOf) }
        : {};
    this.scene.connectAccount(connection.connection, { ...spec, email: accountFor(connection) });
    const others = this.state.connections.filter(
      (one) => !sameConnection(one.connection, connection.connection),
    );
    this.#change({ connections: [...others, connection] });
  }

  #disconnect(connection: ObjectRef): void {
    const kind =
      connection.namespace === undefined ? clusterVaultConnectionKind : vaultConnectionKind;
    if (this.scene.server.find(kind, connection) === undefined) return;
    this.scene.server.delete(kind, connection);
    this.#change({
      connections: this.state.connections.filter(
        (one) => !sameConnection(one.connection, connection),
      ),
    });
  }

  #follow(resource: ModelResource): void {
    const { kind, namespace: of, name, connection, names, isFound = false } = resource;
    const ref = { namespace: of, name: `${kind}-${name}` };
    const keys = Object.fromEntries(names.map((one, n) => [`key-${n}`, one]));
    if (isFound) this.scene.follow({}, { ...ref, connection, ...RULE });
    else if (kind === "secret") this.scene.follow(keys, { ...ref, connection });
    else this.scene.followFiles(ref, connection, names);
    const others = this.state.resources.filter(
      (one) => keyOfResource(one) !== keyOfResource(resource),
    );
    this.#change({ resources: [...others, resource] });
  }

  #delete(resource: Pick<ModelResource, "kind" | "namespace" | "name">): void {
    const { kind, namespace: of, name } = resource;
    const ref = { namespace: of, name: `${kind}-${name}` };
    if (this.scene.server.find(kindOf(kind), ref) === undefined) return;
    this.scene.server.delete(kindOf(kind), ref);
    if (this.scene.server.find(SECRETS, ref) !== undefined) this.scene.server.delete(SECRETS, ref);
    this.#change({
      resources: this.state.resources.filter(
        (one) => keyOfResource(one) !== keyOfResource(resource),
      ),
    });
  }

  async #restart(): Promise<void> {
    const stop = { from: this.scene.clock.monotonic(), to: Infinity };
    this.#stops.push(stop);
    await this.scene.stop();
    stop.to = this.scene.clock.monotonic();
    this.scene.start();
  }

  #change(changes: Partial<ModelState>): void {
    const last = this.#history.at(-1);
    if (last !== undefined) last.until = this.scene.clock.monotonic();
    this.state = { ...this.state, ...changes };
    this.#history.push({ state: this.state, until: Infinity });
  }

  /**
   * Returns the states that an effect at this time may be based on: specs of resources that were
   * followed when it began, and access. An operator that stops finishes what it began, and sees no
   * change any more.
   */
  #statesAt(effectAt: number): ModelState[] {
    const stop = this.#stops.find(({ from, to }) => from <= effectAt && effectAt <= to);
    const at = stop?.from ?? effectAt;
    const since = (time: number) =>
      this.#history.filter(({ until }) => until >= time).map(({ state }) => state);
    const resources = [
      ...new Set(since(at - LAG_MS - READ_MS).flatMap((state) => state.resources)),
    ];
    return since(at - LAG_MS).map((state) => ({ ...state, resources }));
  }

  /**
   * A value may be written to a namespace if a resource there has a right to it, or the target had
   * it before.
   */
  #checkWrite(secret: KubeObject, before: KubeObject | undefined): void {
    const { namespace: of = "", name } = secret.metadata;
    if (of === OPERATOR_NAMESPACE && name === "vaultsync-content-key") return;
    const states = this.#statesAt(this.scene.clock.monotonic());
    if (
      !states.some(({ resources }) =>
        resources.some((one) => one.namespace === of && targetOf(one) === name),
      )
    )
      this.violations.push(`write of ${of}/${name}, which is the target of no resource`);
    const kept = new Set(before === undefined ? [] : valuesOf(before).map(({ text }) => text));
    for (const value of valuesOf(secret)) {
      const isRight =
        kept.has(value.text) ||
        states.some((state) => hasRight(state, value.account, value.name, of));
      if (!isRight) this.violations.push(`write of "${value.text}" to ${of}/${name}`);
    }
  }
}

/** Returns the password of the namespace that an account is of. */
function passwordOf(email: string): string {
  const of = /[.]in[.](.*)@/.exec(email)?.[1] ?? "";
  return passwordIn(of === "" ? OPERATOR_NAMESPACE : of);
}

function valuesOf({ data }: KubeObject) {
  return Object.values(data ?? {}).map((encoded) => {
    const text = Buffer.from(String(encoded), "base64").toString();
    const [of = "", name = ""] = text.split(" ");
    return { text, account: of, name };
  });
}

/** A resource that follows a connection of its namespace. */
const FOLLOWED: Command[] = [
  {
    do: "follow",
    resource: {
      kind: "secret",
      namespace: "c",
      name: "r",
      connection: { namespace: "c", name: "two" },
      names: ["x-1", "x-2"],
      isFound: true,
    },
  },
];
const accountOfTwo = (account: string): Command => ({
  do: "connect",
  connection: { connection: { namespace: "c", name: "two" }, account, access: [] },
});
/** An account that is replaced while its values are read, by an operator that stops then. */
const STOPPED_WHILE_READING: Command[] = [
  accountOfTwo("other"),
  { do: "wait", ms: 60 },
  accountOfTwo("own"),
  { do: "restart" },
];

test("no request and no write is for a resource without a right to it, in random topologies", async () => {
  const seen = { allowed: 0, denied: 0 };
  await fc.assert(
    fc.asyncProperty(topology, commands, async (start, more) => {
      const isolation = new Isolation();
      await using _ = isolation.scene;
      for (const next of [...start, ...more]) {
        await isolation.execute(next);
        isolation.check();
      }
      await isolation.scene.settle(SETTLE_MS);
      isolation.check();
      expect(isolation.violations).toEqual([]);
      expect(isolation.unsettled()).toEqual([]);
      const clusterUsers = isolation.state.resources.filter(
        ({ connection }) => connection.namespace === undefined,
      );
      for (const resource of clusterUsers)
        seen[rightOf(isolation.state, resource) === undefined ? "denied" : "allowed"] += 1;
    }),
    { numRuns: 150, examples: [[FOLLOWED, STOPPED_WHILE_READING]] },
  );
  expect(Math.min(seen.allowed, seen.denied)).toBeGreaterThan(30);
});
