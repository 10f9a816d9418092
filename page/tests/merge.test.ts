import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../src/logic/ids";
import { decide, differences, merge } from "../src/logic/merge";
import { draftOf } from "./draft";

test("changes of different nodes go together", () => {
  const { draft, clashes } = merge(
    draftOf(["a"], ["x"]),
    draftOf(["a", "b"], ["x"]),
    draftOf(["a"], ["x", "y"]),
  );
  assert.deepEqual(draft.positives.sort(), ["a", "b"]);
  assert.deepEqual(draft.negatives.sort(), ["x", "y"]);
  assert.deepEqual(clashes, []);
});

test("what one removed and the other left alone is removed", () => {
  assert.deepEqual(merge(draftOf(["a", "b"]), draftOf(["a"]), draftOf(["a", "b"])).draft.positives, ["a"]);
  assert.deepEqual(merge(draftOf(["a", "b"]), draftOf(["a", "b"]), draftOf(["a"])).draft.positives, ["a"]);
});

test("opposite marks are a clash, and mine until decided", () => {
  const found = merge(draftOf(), draftOf(["a"]), draftOf([], ["a"]));
  assert.deepEqual(found.clashes, [{ node: "a", mine: "positive", theirs: "negative" }]);
  assert.deepEqual(found.draft.positives, ["a"]);
  assert.deepEqual(found.draft.negatives, []);
  const decided = decide(found, new Set([keyOf("a")]));
  assert.deepEqual(decided.positives, []);
  assert.deepEqual(decided.negatives, ["a"]);
});

test("the same change on both sides is no clash", () => {
  const found = merge(draftOf(), draftOf(["a"]), draftOf(["a"]));
  assert.deepEqual(found.clashes, []);
  assert.deepEqual(found.draft.positives, ["a"]);
});

test("one's name and the other's prior go together; notes of both are kept", () => {
  const base = draftOf([], [], { notes: "old" });
  const mine = draftOf([], [], { name: "mine", notes: "my words" });
  const theirs = draftOf([], [], { prior: 0.1, notes: "their words" });
  const { draft } = merge(base, mine, theirs);
  assert.equal(draft.name, "mine");
  assert.equal(draft.prior, 0.1);
  assert.match(draft.notes, /my words[^]*their words/);
});

test("differences name what became of each node", () => {
  assert.deepEqual(differences(draftOf(["a"], ["b"]), draftOf(["b"])), [
    { node: "a", from: "positive", to: null },
    { node: "b", from: "negative", to: "positive" },
  ]);
});
