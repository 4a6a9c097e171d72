import { parseArgs } from "node:util";
import { killRounds } from "../../test/lab/vault/kill-rounds.ts";
import { storeKinds, StoreLocation } from "../../test/lab/vault/store-location.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    store: { type: "string", default: "sqlite" },
    data: { type: "string" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
const rounds = Number(values.rounds);

if (values.help === true || store === undefined || !Number.isSafeInteger(rounds) || rounds < 1) {
  process.stdout
    .write(`Repeatedly kill a vault server with SIGKILL under 8 concurrent writers and verify that every acknowledged write is stored.

npm run bench -- kill9 [--rounds 200] [--store sqlite|postgres] [--data LOCATION]

  --rounds  number of kills (default 200)
  --store   kind of database: a temporary file or PostgreSQL server (default sqlite)
  --data    location of an existing, empty database instead: a file, or postgres://…
`);
  process.exit(values.help === true ? 0 : 2);
}

const start = performance.now();
await using place = await StoreLocation.create(store, values.data);
const result = await killRounds(place, {
  rounds,
  onRound: (round) =>
    void (round % 10 === 0 && process.stderr.write(`${round} of ${rounds} kills\n`)),
});
process.stdout.write(
  `${JSON.stringify({ store, ...result, seconds: Math.round((performance.now() - start) / 1000) })}\n`,
);
