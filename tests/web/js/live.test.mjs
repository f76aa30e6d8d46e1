import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

// The browser's part, as far as the stream uses it.
class Source {
  static all = [];
  closed = false;
  heard = {};
  constructor(address) {
    this.address = address;
    Source.all.push(this);
  }
  addEventListener(event, action) {
    this.heard[event] = action;
  }
  close() {
    this.closed = true;
  }
  say(event, data) {
    this.heard[event]({ data: JSON.stringify(data) });
  }
}
globalThis.EventSource = Source;
globalThis.document = new (class extends EventTarget {
  hidden = false;
  hide(hidden) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
})();
const { follow, live, pause } = await import("../../../src/queuectl/web/static/live.js");
const latest = () => Source.all.at(-1);
const opened = () => Source.all.filter((one) => !one.closed).length;

beforeEach(() => {
  live.stop();
  live.look({});
  document.hidden = false;
});

test("pauses grow, up to an end, and are not the same for all", () => {
  assert.ok(pause(1, 0) > pause(0, 0));
  assert.equal(pause(50, 1), pause(99, 1));
  assert.ok(pause(50, 1) < 20_000);
  assert.notEqual(pause(3, 0), pause(3, 1));
});

test("there is one stream, and none while nobody looks", () => {
  live.start();
  assert.equal(opened(), 1);
  document.hide(true);
  assert.deepEqual([opened(), live.state], [0, "hidden"]);
  document.hide(false);
  assert.equal(opened(), 1);
});

test("who comes back is told to fetch anew, who comes first is not", () => {
  let resets = 0;
  const off = live.on("reset", () => (resets += 1));
  live.start();
  latest().onopen();
  const before = resets;
  document.hide(true);
  document.hide(false);
  latest().onopen();
  assert.equal(resets, before + 1);
  off();
});

test("a broken stream is opened again when asked to", () => {
  live.start();
  latest().onopen();
  latest().onerror();
  assert.deepEqual([opened(), live.state, live.tries], [0, "waiting", 1]);
  assert.ok(live.nextTry > Date.now());
  live.retry();
  latest().onopen();
  assert.deepEqual([opened(), live.state, live.tries], [1, "open", 0]);
});

test("to look at something else is another stream, the same is not", () => {
  live.start();
  live.look({ job: "a b", after: 0 });
  assert.equal(latest().address, "/api/v1/stream?job=a+b&after=0");
  const source = latest();
  live.look({ job: "a b", after: 0 });
  assert.equal(latest(), source);
  assert.equal(opened(), 1);
});

test("output of a named attempt goes on where it was", () => {
  live.start();
  live.look({ job: "a", attempt: 2, after: 0 });
  latest().onopen();
  latest().say("output", { attempt: 2, next: 77, pieces: [] });
  latest().onerror();
  live.retry();
  assert.match(latest().address, /attempt=2&after=77$/);
});

test("events reach who listens, and one that fails does not keep them from others", () => {
  const seen = [];
  const complain = console.error;
  console.error = () => {};
  const offs = [
    live.on("changed", () => {
      throw new Error("mine");
    }),
    live.on("changed", (data) => seen.push(data)),
  ];
  live.start();
  latest().say("changed", { jobs: true });
  console.error = complain;
  assert.deepEqual(seen, [{ jobs: true }]);
  offs.forEach((off) => off());
  latest().say("changed", {});
  assert.equal(seen.length, 1);
});

test("follow never fetches twice at once, and misses nothing", async () => {
  let running = 0;
  let times = 0;
  const ends = [];
  const load = async () => {
    assert.equal(++running, 1);
    times += 1;
    await new Promise((resolve) => ends.push(resolve));
    running -= 1;
  };
  live.start();
  const following = follow(load);
  latest().say("changed", {});
  latest().say("changed", {});
  assert.equal(times, 1);
  ends.shift()();
  await new Promise(setImmediate);
  assert.equal(times, 2);
  ends.shift()();
  await new Promise(setImmediate);
  assert.equal(times, 2);
  following.stop();
  latest().say("changed", {});
  assert.equal(times, 2);
  live.stop();
});
