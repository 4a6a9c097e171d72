import { parseArgs } from "node:util";
import { measureConnections } from "./operator/start-connections.ts";
import { measureRotatedPassword } from "./operator/rotated-password.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

const parts = ["connections", "password"] as const;
const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true, default: [...parts] },
    connections: { type: "string", default: "1000" },
    help: { type: "boolean" },
  },
});
const selected = parts.filter((part) => values.part.includes(part));
if (values.help === true || selected.length === 0) {
  process.stdout.write(`Measure what the start of an operator costs the vault and the API server.

npm run bench -- start [--part connections|password]… [--connections 1000]

  --part         connections: many connections are opened together;
                 password: the password of 20 connections is rotated in the vault (default: both)
  --connections  number of connections that are opened together (default 1000)
`);
  process.exit(values.help === true ? 0 : 2);
}

for (const part of selected) {
  const result = await {
    connections: () => measureConnections(Number(values.connections)),
    password: measureRotatedPassword,
  }[part]();
  process.stdout.write(`${table([["", part], ...result.figures])}\n`);
  await saveResult(`start-${part}`, values, result);
}
