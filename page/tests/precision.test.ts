import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../src/logic/ids";
import { precisionAtTop, withCheck } from "../src/logic/precision";
import { draftOf } from "./draft";

const checks = [
  { node: "a", rank: 1 },
  { node: "b", rank: 2 },
  { node: "c", rank: 3 },
  { node: "far", rank: 21 },
];

test("counts the confirmed among the checked, in the top only", () => {
  const found = precisionAtTop(checks, draftOf(["a", "b"], ["c", "far"]), 20);
  assert.equal(found.checked, 3);
  assert.equal(found.confirmed, 2);
  assert.equal(found.share, 2 / 3);
});

test("a mark that was undone no longer counts", () => {
  assert.equal(precisionAtTop(checks, draftOf(["a"]), 20).checked, 1);
});

test("examples that were never in the ranking do not count", () => {
  assert.equal(precisionAtTop([], draftOf(["a", "b"]), 20).share, null);
});

test("the interval holds the share, within 0 and 1, and narrows", () => {
  const few = precisionAtTop(checks, draftOf(["a", "b", "c"]), 20);
  assert.equal(few.share, 1);
  assert.ok(few.low! > 0.3 && few.low! < 0.7, `${few.low}`);
  assert.ok(few.high! <= 1);
  const many = Array.from({ length: 20 }, (_, i) => ({ node: `n${i}`, rank: i + 1 }));
  const all = precisionAtTop(many, draftOf(many.map((check) => check.node)), 20);
  assert.ok(all.low! > few.low!);
});

test("a node counts once, with the rank it had before its answer was known", () => {
  const first = withCheck([], new Set(), { node: 7, rank: 3 });
  assert.deepEqual(first, [{ node: 7, rank: 3 }]);
  assert.deepEqual(withCheck(first, new Set([keyOf(7)]), { node: 7, rank: 1 }), first);
});

test("what was an example before the ranking proposed it does not count", () => {
  assert.deepEqual(withCheck([], new Set([keyOf("a")]), { node: "a", rank: 1 }), []);
});
