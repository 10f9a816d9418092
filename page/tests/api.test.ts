import { reply, serve } from "./browser"; // first: it makes the globals that the others need
import assert from "node:assert/strict";
import { test } from "node:test";
import { Lost, ask } from "../src/api";

const lost = (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch"));

test("what is lost is asked again", async () => {
  let isLost = true;
  const calls = serve(() => {
    if (!isLost) return reply({ models: [] });
    isLost = false;
    return lost();
  });
  assert.deepEqual(await ask("/models"), { models: [] });
  assert.equal(calls.length, 2);
});

test("what must not be done twice is asked once", async () => {
  for (const answer of [lost, () => reply({}, 504)]) {
    const calls = serve(answer);
    await assert.rejects(ask("/projects/import", { method: "POST", file: new Blob([]), isOnce: true }), Lost);
    assert.equal(calls.length, 1);
  }
});

test("a mistake of ours is not taken for a lost server", async () => {
  const calls = serve(() => reply({}));
  const body: Record<string, unknown> = {};
  body["itself"] = body; // JSON.stringify throws a TypeError
  await assert.rejects(ask("/models", { method: "POST", body }), TypeError);
  assert.equal(calls.length, 0);
});

test("a busy server is waited for; one whose disk is full is not, unseen", async () => {
  const answer = (code: string) => reply({ error: { code, message: "no room" } }, 503);
  let isBusy = true;
  const calls = serve(() => {
    if (!isBusy) return answer("storage");
    isBusy = false;
    return answer("overloaded");
  });
  await assert.rejects(ask("/projects/p1", { method: "PUT", body: {} }), /no room/);
  assert.equal(calls.length, 2);
});
