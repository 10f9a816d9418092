import assert from "node:assert/strict";
import { test } from "node:test";
import { hasLargeInteger, readJson } from "../src/logic/json";

test("integers beyond 2^53 are looked for, and decimals are none", () => {
  for (const text of ["9007199254740993", "[-9007199254740993]", '{"id":123456789012345678901}', "[1,9007199254740993]"])
    assert.ok(hasLargeInteger(text), text);
  for (const text of ["0.1234567890123456789", "[12.12345678901234567,-0.98765432109876543]", "123456789012345"])
    assert.ok(!hasLargeInteger(text), text);
});

test("a large integer survives where JavaScript can tell it", (t) => {
  const hasSource = JSON.parse("1", ((_k: string, _v: unknown, context?: object) => context !== undefined) as never);
  if (!hasSource) return t.skip("this Node.js has no source texts");
  return assert.deepEqual(readJson("[9007199254740993,0.5]"), [9007199254740993n, 0.5]);
});
