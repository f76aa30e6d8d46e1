import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { ApiError, get, onUnauthorized, query, send } from "../../../src/queuectl/web/static/api.js";

let asked; // what the page asked the network for
let answer;

beforeEach(() => {
  asked = [];
  answer = () => new Response('{"a": 1}');
  globalThis.fetch = async (address, options) => {
    asked.push({ address, ...options });
    return answer();
  };
  onUnauthorized(() => {});
});

test("parameters that are nothing are left out, lists are repeated", () => {
  assert.equal(query({ state: ["a", "b"], queue: "x&y", tag: null, search: "", limit: 0, held: false }), "?state=a&state=b&queue=x%26y&limit=0&held=false");
  assert.equal(query({}), "");
  assert.equal(query(null), "");
});

test("a look sends no body and no proof", async () => {
  assert.deepEqual(await get("/jobs", { limit: 5 }), { a: 1 });
  assert.equal(asked[0].address, "/api/v1/jobs?limit=5");
  assert.equal(asked[0].body, undefined);
  assert.equal(asked[0].headers["X-Queuectl"], undefined);
});

test("a change sends JSON and the proof", async () => {
  await send("POST", "/jobs", { command: "true" }, { "Idempotency-Key": "k" });
  const { method, headers, body } = asked[0];
  assert.deepEqual([method, body], ["POST", '{"command":"true"}']);
  assert.equal(headers["X-Queuectl"], "1");
  assert.equal(headers["Content-Type"], "application/json");
  assert.equal(headers["Idempotency-Key"], "k");
});

test("nothing in the answer is null", async () => {
  answer = () => new Response(null, { status: 204 });
  assert.equal(await send("DELETE", "/schedules/x"), null);
});

test("a problem is told in the server's words", async () => {
  answer = () => new Response('{"code": "refused", "detail": "it runs", "hint": "cancel it"}', { status: 409 });
  await assert.rejects(send("DELETE", "/jobs/x"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.code, error.message, error.hint], [409, "refused", "it runs", "cancel it"]);
    return true;
  });
});

test("what is no JSON is a problem too", async () => {
  answer = () => new Response("<h1>Bad gateway</h1>", { status: 502 });
  await assert.rejects(get("/jobs"), { status: 502, message: "the server answered 502" });
});

test("a server that is gone has status 0", async () => {
  answer = () => {
    throw new TypeError("Failed to fetch");
  };
  await assert.rejects(get("/jobs"), { status: 0, code: "unreachable" });
});

test("the end of the session is told once per request, but not while logging in", async () => {
  let told = 0;
  onUnauthorized(() => (told += 1));
  answer = () => new Response("{}", { status: 401 });
  await assert.rejects(get("/jobs"), { status: 401 });
  assert.equal(told, 1);
  await assert.rejects(send("POST", "/session", { token: "wrong" }), { status: 401 });
  assert.equal(told, 1);
});
