import { expect, test } from "vitest";
import { scopeText } from "./scope-text.ts";

const rest =
  "cloud_type:*,environment_type:all,application_type:*,classification:low,classification:*";

test("a scope that matches everything is named so", () => {
  expect(scopeText(`${rest},secret_name:*`)).toBe("Everything");
});

test("a narrowed scope names its attributes with their values, decoded", () => {
  expect(scopeText(`${rest},secret_name:a%2Cb,secret_name:c:d,secret_name:%`)).toBe(
    "secret name: a,b, c:d, %",
  );
  expect(scopeText("cloud_type:aws,environment_type:dev")).toBe(
    "cloud type: aws; environment type: dev",
  );
});
