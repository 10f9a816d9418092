import type { Call } from "./browser"; // first: it makes the globals that the others need
import { reply, serve, storage, until } from "./browser";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Project } from "../src/contract";
import type { Draft } from "../src/logic/draft";
import { contentOf } from "../src/logic/draft";
import { notice } from "../src/notice";
import { Sheet, conflict } from "../src/sheet";
import { draftOf } from "./draft";

const project = (draft: Draft, version: number, more: Partial<Project> = {}): Project => ({
  ...draft,
  id: "p1",
  model: "town",
  graph: null,
  version,
  created: new Date().toISOString(),
  changed: new Date().toISOString(),
  deleted: false,
  can_undo: true,
  can_redo: false,
  ...more,
});

const [empty, one, two, three] = [draftOf(), draftOf(["a"]), draftOf(["a", "b"]), draftOf(["a", "b", "c"])];
const never = (): Promise<Response> => new Promise(() => undefined);
const kinds = (calls: Call[]): string[] => calls.map(({ method, path }) => `${method} ${path}`);
const isIdle = (sheet: Sheet) => () => sheet.journal.value.queue.length === 0;
const put = ({ body }: Call): Response =>
  reply(project(contentOf(body as unknown as Draft), (body["version"] as number) + 1));

beforeEach(() => {
  storage.kept.clear();
  storage.limit = Infinity;
  notice.value = null;
});

test("a change is sent though this tab cannot keep it", async () => {
  storage.limit = 10;
  const calls = serve(put);
  const sheet = Sheet.of(project(empty, 1));
  sheet.change(one);
  await until(isIdle(sheet));
  assert.deepEqual(kinds(calls), ["PUT /projects/p1"]);
  assert.equal(sheet.saved.value!.version, 2);
});

test("what is kept does not grow with the past, and shrinks to the newest state", () => {
  serve(never);
  const sheet = Sheet.of(project(empty, 1));
  for (const draft of [one, two, three]) sheet.change(draft);
  const [text] = storage.kept.values();
  assert.ok(!text!.includes("past"));
  storage.limit = text!.length;
  for (let i = 0; i < 40; i++) sheet.change(draftOf(["a", `n${i}`]));
  const [again] = Sheet.pending();
  assert.deepEqual(again!.draft, sheet.draft);
  assert.equal(again!.journal.value.queue.length, 1);
});

test("after a reload the changes are still there, and can be taken back", async () => {
  serve(never);
  const before = new Sheet("town", empty);
  before.change(one);
  before.change(two);
  const [sheet] = Sheet.pending();
  const calls = serve((call) => (call.path === "/projects" ? reply(project(empty, 1), 201) : put(call)));
  await sheet!.undo();
  assert.deepEqual(sheet!.draft, one);
  await until(isIdle(sheet!));
  assert.deepEqual(kinds(calls), ["POST /projects", "PUT /projects/p1"]);
  assert.deepEqual(calls[0]!.body["positives"], []);
});

test("a mark made while the server undoes goes on top of what it undid", async () => {
  let answer: (response: Response) => void = () => undefined;
  const calls = serve((call) =>
    call.method === "PUT" ? put(call) : new Promise((resolve) => (answer = resolve)),
  );
  const sheet = Sheet.of(project(two, 5));
  const undone = sheet.undo();
  sheet.change(three);
  answer(reply(project(one, 6)));
  await undone;
  await until(isIdle(sheet));
  assert.deepEqual(kinds(calls), ["POST /projects/p1/undo", "PUT /projects/p1"]);
  assert.deepEqual(sheet.draft.positives, ["a", "c"]);
  assert.deepEqual([calls[1]!.body["version"], calls[1]!.body["positives"]], [6, ["a", "c"]]);
});

test("two undos before this tab's time are two undos", async () => {
  let version = 5;
  const calls = serve(() => reply(project(--version === 4 ? one : empty, 10 - version)));
  const sheet = Sheet.of(project(two, 5));
  await Promise.all([sheet.undo(), sheet.undo()]);
  assert.deepEqual(calls.map(({ body }) => body["version"]), [5, 6]);
  assert.deepEqual(sheet.draft, empty);
});

test("what a failing server did not take is sent again", async () => {
  let numFailed = 0;
  const calls = serve((call) => (numFailed++ === 0 ? reply({}, 500) : put(call)));
  const sheet = Sheet.of(project(empty, 1));
  sheet.change(one);
  await until(() => sheet.isHeldUp.value);
  assert.equal(sheet.journal.value.queue.length, 1);
  assert.equal(storage.kept.size, 1);
  await until(isIdle(sheet));
  assert.equal(calls.length, 2);
  assert.deepEqual(sheet.saved.value!.content, one);
  assert.equal(sheet.isHeldUp.value, false);
});

for (const status of [403, 413, 422])
  test(`a change refused with ${status} is said not to be saved, and is no step of the history`, async () => {
    serve((call) => ((call.body["positives"] as string[]).includes("b") ? reply({}, status) : put(call)));
    const sheet = Sheet.of(project(empty, 1, { can_undo: false }));
    sheet.change(one);
    await until(isIdle(sheet));
    sheet.change(two);
    await until(isIdle(sheet));
    assert.deepEqual(sheet.draft, one);
    assert.match(notice.value!.text, /^Not saved: /);
    assert.equal(sheet.journal.value.past.length, 0); // the server's undo goes on from here
    await sheet.redo();
    assert.deepEqual(sheet.draft, two);
    await until(isIdle(sheet));
    assert.deepEqual(sheet.draft, one);
  });

test("a change on top of a refused one is sent", async () => {
  const calls = serve((call) => (call.body["notes"] === "no" ? reply({}, 422) : put(call)));
  const sheet = Sheet.of(project(empty, 1));
  sheet.change({ ...one, notes: "no" });
  sheet.change(two);
  await until(isIdle(sheet));
  assert.equal(calls.length, 2);
  assert.deepEqual(sheet.saved.value!.content, two);
  assert.deepEqual(sheet.draft, two);
});

test("an undo whose answer was lost is no conflict with oneself", async () => {
  let isLost = true;
  const calls = serve((call) => {
    if (call.method === "PUT") return put(call);
    if (!isLost) return reply({ theirs: project(empty, 3) }, 409); // it was undone, unheard
    isLost = false;
    throw new TypeError("Failed to fetch");
  });
  const sheet = Sheet.of(project(empty, 1));
  sheet.change(one);
  await until(isIdle(sheet));
  await sheet.undo();
  sheet.change(three); // is queued behind the undo
  await until(isIdle(sheet));
  assert.equal(conflict.value, null);
  assert.equal(calls.at(-1)!.body["version"], 3);
  assert.deepEqual(sheet.saved.value!.content, three);
});

for (const isMade of [true, false])
  test(`a project is made once, though the answer was lost: ${isMade ? "made" : "not made"}`, async () => {
    let isLost = true;
    const old = project(empty, 1, { id: "old", created: "2020-01-01T00:00:00Z" });
    const others = [old, project(one, 1, { id: "other" }), project(empty, 2, { id: "changed" })];
    const calls = serve((call) => {
      if (call.method === "PUT") return put(call);
      const all = isMade ? [...others, project(empty, 1)] : others;
      if (call.path === "/projects?model=town") return reply({ projects: all, num_projects: all.length });
      if (call.method === "GET") return reply(all.find(({ id }) => call.path === `/projects/${id}`));
      if (!isLost) return reply(project(empty, 1), 201);
      isLost = false;
      throw new TypeError("Failed to fetch");
    });
    const sheet = new Sheet("town", empty);
    sheet.change(one);
    await until(isIdle(sheet));
    const looked = ["GET /projects?model=town", "GET /projects/other"];
    const then = isMade ? ["GET /projects/p1"] : ["POST /projects"];
    assert.deepEqual(kinds(calls), ["POST /projects", ...looked, ...then, "PUT /projects/p1"]);
    assert.deepEqual(sheet.saved.value!.content, one);
  });

test("a graph is accepted with what the server has, and marks made meanwhile stay", async () => {
  const now = { name: "town", fingerprint: "new" };
  const calls = serve(({ body }) =>
    reply(project(contentOf(body as unknown as Draft), (body["version"] as number) + 1, { graph: now })),
  );
  const sheet = Sheet.of(project(one, 3, { graph: { name: "village", fingerprint: "old" } }));
  const accepted = sheet.acceptGraph();
  sheet.change(two);
  await accepted;
  await until(isIdle(sheet));
  assert.deepEqual(
    calls.map(({ body }) => [body["version"], body["accepts_graph"] ?? false, body["positives"]]),
    [
      [3, true, ["a"]],
      [4, false, ["a", "b"]],
    ],
  );
  assert.deepEqual(sheet.saved.value!.graph, now);
});

test("what was deleted elsewhere is brought back with the changes made here", async () => {
  let isDeleted = true;
  const calls = serve((call) => {
    if (call.path.endsWith("/restore")) {
      isDeleted = false;
      return reply(project(one, 5));
    }
    return isDeleted ? reply({ theirs: project(one, 4, { deleted: true }) }, 409) : put(call);
  });
  const sheet = Sheet.of(project(one, 3));
  sheet.change(two);
  await until(() => conflict.value !== null);
  assert.equal(conflict.value!.theirs.deleted, true);
  await sheet.bringBack();
  await until(isIdle(sheet));
  assert.equal(conflict.value, null);
  assert.deepEqual(kinds(calls), ["PUT /projects/p1", "POST /projects/p1/restore", "PUT /projects/p1"]);
  assert.deepEqual([sheet.saved.value!.version, sheet.draft], [6, two]);
});

test("what was deleted elsewhere is not taken for saved, and can be left", async () => {
  serve(() => reply({ theirs: project(two, 5, { deleted: true }) }, 409)); // our change, then deleted
  const sheet = Sheet.of(project(one, 3));
  sheet.change(two);
  await until(() => conflict.value !== null);
  sheet.leaveDeleted();
  assert.equal(conflict.value, null);
  assert.equal(storage.kept.size, 0);
});

test("a project that was deleted elsewhere is not shown as its newest version", async () => {
  serve(() => reply(project(one, 4, { deleted: true })));
  const sheet = Sheet.of(project(one, 3));
  await sheet.refresh();
  assert.equal(conflict.value!.theirs.deleted, true);
  sheet.leaveDeleted();
});
