import { lineLogger } from "../lab/assertions/recording-logger.ts";
import { ApiClient } from "../lab/simulated/api-server/api-client.ts";
import {
  InMemoryTransport,
  type VaultNetwork,
} from "../lab/simulated/vault/in-memory-transport.ts";
import type { Logger } from "../../src/lib/logger.ts";
import type { OperatorConfig } from "../../src/operator/config.ts";
import { runEngine } from "../../src/operator/operator.ts";
import type {
  VaultRequest,
  VaultTransport,
} from "../../src/operator/vault-client/http/vault-transport.ts";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import type { Counter } from "prom-client";
import { type MetricDescription, MetricsRegistry } from "../../src/telemetry/metrics-registry.ts";
import type { SentRequest } from "./invariants/consumers.ts";
import { RequestRate } from "./invariants/request-rate.ts";
import { apiNetwork, type Faults, vaultNetwork } from "./networks.ts";
import { PathToVault, type Proxy } from "./path-to-vault.ts";
import type { ProcessClock } from "./replica.ts";
import type { Rights } from "./rights.ts";
import { VALUE } from "./simulated-values.ts";
import { TOKEN } from "./stored-tokens.ts";
import type { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";
import type { VirtualClock } from "../lab/clock/virtual-clock.ts";
import type { Random } from "../../src/lib/random.ts";
import { CLUSTER_ACCOUNT, PASSWORD, SYSTEM_NAMESPACE, vaultAt } from "./cast.ts";
import type { SimulatedVaults } from "./simulated-vaults.ts";
import { Violation } from "./violation.ts";

/** The rest of the minute whose requests are counted, once there is one leader again, in ms. */
const COUNTED_MS = 15_000;
/** Most events of one process in a minute: about three times what any command causes. */
const MAX_PER_MINUTE = {
  "requests to the API server": 1_000,
  "requests to the vaults": 500,
  reconciles: 400,
};

/** Counts the reconciles: there may be many without a request. */
class CountedReconciles extends MetricsRegistry {
  readonly #rate: RequestRate;

  constructor(rate: RequestRate) {
    super();
    this.#rate = rate;
  }

  override counter<L extends string = never>(description: MetricDescription<L>): Counter<L> {
    const counter = super.counter(description);
    if (description.name !== "vaultsync_reconciles_total") return counter;
    const inc = counter.inc.bind(counter);
    return Object.assign(counter, {
      inc: (...labels: Parameters<typeof inc>) => {
        this.#rate.count();
        inc(...labels);
      },
    });
  }
}

/** A request of a replica that a vault carried out or rejected, and the vault's response. */
export interface CarriedOut {
  readonly user: string;
  readonly vault: string;
  readonly request: VaultRequest;
  readonly response: InMemoryResponse;
}

/** The part of a world that a process of the operator sees. */
interface Surroundings {
  readonly clock: VirtualClock;
  readonly server: InMemoryApiServer;
  readonly vaults: SimulatedVaults;
  readonly proxies: ReadonlyMap<string, Proxy>;
  readonly rights: Rights;
  readonly faults: Faults;
  readonly random: Random;
  readonly violations: Violation[];
  readonly mayHaveTwoLeaders: (moreMs: number) => boolean;
  /** Number of requests to the vaults. */
  vaultRequests: number;
  readonly onClusterRead: (user: string, entry: string) => void;
  readonly onVaultRequest: (request: CarriedOut) => void;
  readonly onSend: (request: SentRequest) => void;
}

/** Runs one process of the operator in a world until the signal is aborted. */
export async function runReplica(
  world: Surroundings,
  user: string,
  clock: ProcessClock,
  config: OperatorConfig,
  signal: AbortSignal,
): Promise<void> {
  const { server, faults, random } = world;
  const [toApi, toVaults] = [
    rateOf(world, user, "requests to the API server"),
    rateOf(world, user, "requests to the vaults"),
  ];
  const network = apiNetwork(faults, clock, random, () => toApi.count());
  await runEngine(
    {
      config,
      api: new ApiClient(server, { user, network }),
      leaseApi: new ApiClient(server, { user, network }),
      openTransport: (url) => transport({ world, url, user, clock, config, rate: toVaults }),
      namespace: SYSTEM_NAMESPACE,
      identity: user,
      host: user,
      clock,
      random,
      logger: loggerOf(world),
      metrics: new CountedReconciles(rateOf(world, user, "reconciles")),
      onReady: () => undefined,
      ...(config.namespacesFile !== undefined && {
        readNamespaces: () => Promise.resolve(world.rights.file),
      }),
    },
    signal,
  );
}

function rateOf(world: Surroundings, user: string, what: keyof typeof MAX_PER_MINUTE): RequestRate {
  const most = MAX_PER_MINUTE[what];
  const message = `${user} had more than ${most} ${what} in a minute`;
  return new RequestRate(world.clock, most, () => {
    // Two leaders write their statuses over each other's.
    if (!world.mayHaveTwoLeaders(COUNTED_MS)) world.violations.push(new Violation("I10", message));
  });
}

interface TransportOptions {
  readonly world: Surroundings;
  readonly url: string;
  readonly user: string;
  readonly clock: ProcessClock;
  readonly config: OperatorConfig;
  readonly rate: RequestRate;
}

function transport({ world, url, user, clock, config, rate }: TransportOptions): VaultTransport {
  const name = vaultAt(url);
  const network = vaultNetwork(world.faults, name, clock, world.random);
  /** Responses of something between the operator and the vault. */
  const intercepted = new WeakSet<InMemoryResponse>();
  const counted: VaultNetwork = {
    ...network,
    respond: (request, response, signal) => {
      if (!intercepted.has(response))
        world.onVaultRequest({ user, vault: name, request, response });
      return network.respond!(request, response, signal);
    },
    send: async (...args) => {
      world.vaultRequests += 1;
      rate.count();
      const { clusterName } = config;
      world.onSend({ user, vault: name, request: args[0], clusterName });
      const { email, key_name, filename } = args[0].body as {
        email?: string;
        key_name?: string;
        filename?: string;
      };
      const entry = key_name ?? filename;
      if (email === CLUSTER_ACCOUNT && entry !== undefined) world.onClusterRead(user, entry);
      const response = await network.send!(...args);
      if (response !== undefined) intercepted.add(response);
      return response;
    },
  };
  const inner = new InMemoryTransport({ vault: world.vaults.vault(name), clock, network: counted });
  return new PathToVault({ inner, url, config, clock, proxy: () => world.proxies.get(name) });
}

/** A logger that looks for values. */
function loggerOf(world: Surroundings): Logger {
  return lineLogger((line) => {
    if (VALUE.test(line) || line.includes(PASSWORD) || TOKEN.test(line))
      world.violations.push(new Violation("I11", `a log line contains a value: ${line}`));
  });
}
