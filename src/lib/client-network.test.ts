import { expect, test } from "vitest";
import { clientNetwork } from "./client-network.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:0DB8:0000:0000:ffff:ffff:ffff:ffff", "2001:db8:0:0::/64"],
  ["2001:db8:0:1::", "2001:db8:0:1::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["1:2:3:4:5:6:7:8", "1:2:3:4::/64"],
  ["192.0.2.1:50123", "192.0.2.1"],
  ["[2001:db8::1]:50123", "2001:db8:0:0::/64"],
  ["[::1]", "0:0:0:0::/64"],
])("the address %s is counted as %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
