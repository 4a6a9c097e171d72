import { reasons } from "../../src/operator/api/reasons.ts";

/** Returns docs/reasons.md: every reason of a condition, with its remedy. */
export function reasonsPage(): string {
  const rows = Object.entries(reasons).map(
    ([reason, { remedy, stalled }]) =>
      `| \`${reason}\` | ${stalled ? "yes" : ""} | ${remedy.replaceAll("<", "&lt;")} |`,
  );
  return `<!-- Generated from src/operator/api/reasons.ts by npm run generate. Do not edit. -->
# Reasons

Every condition of a resource has one of these reasons, and a message with the details. A reason that requires action
also sets the condition \`Stalled\`: the operator does not continue until a user changes something.

\`SourceMissing\`, \`ConnectionNotFound\` and \`TargetMissing\` do not: what is missing may be created next, by another resource of the same commit for example. GitOps
tools therefore show such a resource as in progress, and as failed when the time ends for which they wait; an alert on
\`vaultsync_resources{ready="false"}\` does not depend on them.

| Reason | Requires action | Remedy |
|---|---|---|
${rows.join("\n")}
`;
}
