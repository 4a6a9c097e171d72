import { once } from "node:events";
import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OPERATOR_USER } from "../lab/real/world.ts";
import { collection } from "../lab/real/resources.ts";
import { certificate } from "../lab/certificates.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { Lanes, type Lane } from "./support/lanes.ts";

/** Admission webhooks of a real API server reject, delay or change the operator's writes. */
const shared = Lanes.use();

const authority = certificate("Webhook CA");
const { cert, keyPem: key } = certificate("webhook", { issuer: authority, hosts: ["127.0.0.1"] });

interface Review {
  readonly request: { readonly uid: string; readonly name: string };
}
type Verdict =
  | { readonly allowed: boolean; readonly patch?: object[]; readonly message?: string }
  | "silence";

/** The verdict by the path of the webhook. */
const verdicts: Record<string, Verdict> = {
  "/rejects": { allowed: false, message: "denied by policy" },
  "/silent": "silence",
  "/changes-data": {
    allowed: true,
    patch: [{ op: "add", path: "/data/value", value: Buffer.from("changed").toString("base64") }],
  },
  "/strips-label": {
    allowed: true,
    patch: [{ op: "remove", path: "/metadata/labels/app.kubernetes.io~1managed-by" }],
  },
};
/** Names of the Secrets that were reviewed. */
const reviewed: string[] = [];
const server = createServer({ cert, key }, (request, response) => {
  void json(request).then((review) => {
    const { uid, name } = (review as Review).request;
    reviewed.push(name);
    // The API server adds its timeout as a query.
    const verdict = verdicts[request.url?.split("?")[0] ?? ""] ?? "silence";
    if (verdict === "silence") return;
    const { allowed, patch, message } = verdict;
    const encoded = patch && {
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
    };
    const result = {
      uid,
      allowed,
      ...encoded,
      ...(message !== undefined && { status: { message } }),
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: result,
      }),
    );
  });
});
let port = 0;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (typeof address === "object" && address !== null) port = address.port;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

type Kind = "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration";
const path = (kind: Kind): string => `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;

/**
 * Adds a webhook for the writes of one Secret; it is effective when this returns. Disposing the
 * result removes it.
 */
async function webhook(kind: Kind, verdict: string, secret: string): Promise<AsyncDisposable> {
  const { world } = shared;
  const name = `${world.namespace}-${secret}`;
  const { status, body } = await world.plane.request("POST", path(kind), {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name },
    webhooks: [
      {
        name: "faults.vaultsync.dev",
        clientConfig: {
          url: `https://127.0.0.1:${port}${verdict}`,
          caBundle: Buffer.from(authority.cert).toString("base64"),
        },
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            resources: ["secrets"],
            operations: ["CREATE", "UPDATE"],
          },
        ],
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": world.namespace } },
        matchConditions: [{ name: "name", expression: `object.metadata.name == '${secret}'` }],
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: verdict === "/silent" ? 1 : 10,
      },
    ],
  });
  if (status !== 201) throw new Error(`${kind}: ${status} ${body}`);
  // The API server learns of a webhook by a separate watch.
  await waitUntil("the webhook is effective", () => isReviewed(secret));
  return {
    async [Symbol.asyncDispose]() {
      await world.plane.request("DELETE", `${path(kind)}/${name}`);
      await waitUntil("the webhook is gone", async () => !(await isReviewed(secret)));
    },
  };
}

/** Reports whether a write to a Secret, without its effect, reaches a webhook. */
async function isReviewed(secret: string): Promise<boolean> {
  const { plane, namespace } = shared.world;
  const object = `${collection("Secret", namespace)}/${secret}`;
  const before = reviewed.filter((name) => name === secret).length;
  await plane.request(
    "PUT",
    `${object}?dryRun=All`,
    JSON.parse((await plane.request("GET", object)).body),
  );
  return reviewed.filter((name) => name === secret).length > before;
}

/**
 * Returns the number of writes to the Secret of a lane while `action` runs. `action` may wait for
 * the first one.
 */
async function writesDuring(
  lane: Lane,
  action: (firstWrite: () => Promise<unknown>) => Promise<unknown>,
): Promise<number> {
  const { plane, namespace } = shared.world;
  const since = await plane.auditMark();
  const filter = {
    user: OPERATOR_USER,
    verb: ["create", "update", "patch"],
    resource: "secrets",
    namespace,
    name: lane.name,
  };
  const writes = (): Promise<number> => plane.countRequests(filter, { since });
  await action(() => waitUntil(`a write to ${lane.name}`, writes));
  return writes();
}

/** The delay between two repairs doubles from 5 s: the next one may be more than a minute away. */
async function expectRecovery(lane: Lane): Promise<void> {
  await lane.protect();
  await lane.inSync(120_000);
}

test.concurrent("K8: a rejected write is reported, not repeated quickly, and the target is kept", async () => {
  await using lane = await shared.world.lane("k8-rejected");
  {
    await using _ = await webhook("ValidatingWebhookConfiguration", "/rejects", lane.name);
    const count = await writesDuring(lane, async () => {
      await lane.protect();
      await lane.secretReports("TargetForbidden", /^the admission webhook \S+ denies to /);
      await sleep(5_000);
    });
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(3);
    expect(lane.written).toEqual([lane.values[0]]);
  }
  await expectRecovery(lane);
});

test.concurrent("K8: a webhook that does not respond delays a write and changes nothing", async () => {
  await using lane = await shared.world.lane("k8-silent");
  {
    await using _ = await webhook("ValidatingWebhookConfiguration", "/silent", lane.name);
    const count = await writesDuring(lane, async (firstWrite) => {
      await lane.protect();
      await firstWrite();
      await sleep(8_000);
    });
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(6);
    expect(lane.written).toEqual([lane.values[0]]);
  }
  await expectRecovery(lane);
});

test.concurrent.each([
  ["changes the data", "k8-changed", "/changes-data", "TargetRejected", /./],
  // The policy comes after webhooks, and denies a target without the label.
  [
    "removes the label",
    "k8-stripped",
    "/strips-label",
    "TargetForbidden",
    /policy vaultsync-operator-targets denies/i,
  ],
] as const)(
  "K8: a webhook that %s is reported and not fought",
  async (_what, name, handler, reason, message) => {
    await using lane = await shared.world.lane(name);
    {
      await using _ = await webhook("MutatingWebhookConfiguration", handler, lane.name);
      const count = await writesDuring(lane, async () => {
        await lane.protect();
        await lane.secretReports(reason, message);
        await sleep(5_000);
      });
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(4);
    }
    await expectRecovery(lane);
  },
);

test.concurrent("K8: another client that reverts every write is reported as a contest", async () => {
  const { world } = shared;
  await using lane = await world.lane("k8-contested");
  const data = { value: Buffer.from("theirs").toString("base64") };
  const stop = new AbortController();
  const fighting = (async () => {
    while (!stop.signal.aborted) {
      const value = world.history.latest("Secret", lane.name)?.data["value"];
      if (value !== data.value) await world.patch("Secret", lane.name, { data });
      await sleep(50);
    }
  })();
  const count = await writesDuring(lane, async () => {
    await lane.secretReports("TargetContested");
    await sleep(5_000);
  });
  stop.abort();
  await fighting;
  expect(count).toBeLessThanOrEqual(6);
  await expectRecovery(lane);
});

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
