import { parseArgs } from "node:util";
import { runRaces } from "../../test/lab/vault/races/run-races.ts";
import { storeKinds, StoreLocation } from "../../test/lab/vault/store-location.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "600" },
    store: { type: "string", default: "sqlite" },
    help: { type: "boolean" },
  },
});
const store = storeKinds.find((kind) => kind === values.store);
const seconds = Number(values.seconds);

if (values.help === true || store === undefined || !(seconds > 0)) {
  process.stdout
    .write(`Let clients race at a vault server, or at two servers on one PostgreSQL database, and verify that no value is read without a permission, no
version is lost or stored twice, no revoked token is accepted, and each value that is read is in an audit log.

npm run bench -- races [--seconds 600] [--store sqlite|postgres]

Exits with 1 when a rule was broken.

  --seconds  duration (default 600)
  --store    kind of database: a temporary file or PostgreSQL server (default sqlite)
`);
  process.exit(values.help === true ? 0 : 2);
}

await using place = await StoreLocation.create(store);
const result = await runRaces(place, { servers: store === "postgres" ? 2 : 1, seconds });
process.stdout.write(`${JSON.stringify({ store, seconds, ...result }, undefined, 2)}\n`);
if (result.violations.length > 0) process.exitCode = 1;
