import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../src/queuectl/web/static/format.js";

const table = (name, call, cases) => {
  for (const [given, wanted] of cases) test(`${name}(${JSON.stringify(given)})`, () => assert.equal(call(given), wanted));
};

table("age", format.age, [
  [0, "0s"], [0.9, "0s"], [59.9, "59s"], [60, "1m"], [3599, "59m"], [3600, "1h"], [86399, "23h"], [86400, "1d"],
  [-5, "0s"], [null, "–"], [undefined, "–"], [NaN, "–"],
]);
table("duration", format.duration, [
  [0, "0s"], [0.0004, "0.4ms"], [0.24, "240ms"], [0.9996, "1s"], [3.21, "3.2s"], [9.96, "10s"], [59.4, "59s"],
  [59.6, "1m"], [65, "1m 5s"], [7380, "2h 3m"], [3600, "1h"], [446400, "5d 4h"], [null, "–"],
]);
table("bytes", format.bytes, [
  [0, "0 B"], [512, "512 B"], [1023.6, "1 KB"], [1536, "1.5 KB"], [20 * 1024 ** 2, "20 MB"], [3.5 * 1024 ** 4, "3.5 TB"], [null, "–"],
]);
table("count", format.count, [[0, "0"], [1.256, "1.26"], [12.34, "12.3"], [1234567, "1,234,567"], [null, "–"]]);
table("short", format.short, [[950, "950"], [1200, "1.2k"], [35000, "35k"], [4.1e6, "4.1M"], [2e9, "2G"], [null, "–"]]);

test("when tells the past from the future", () => {
  const now = Date.parse("2026-01-31T12:00:00Z");
  assert.equal(format.when("2026-01-31T11:57:00Z", now), "3m ago");
  assert.equal(format.when("2026-01-31T12:05:00Z", now), "in 5m");
  assert.equal(format.when("2026-01-31T12:00:00.400Z", now), "just now");
  assert.match(format.when("2025-06-30T12:00:00Z", now), /^2025-06-30|^2025-07-01/);
  assert.equal(format.when(null, now), "–");
  assert.equal(format.when("no time", now), "–");
});

test("some knows the plural", () => {
  assert.equal(format.some(1, "job"), "1 job");
  assert.equal(format.some(0, "job"), "0 jobs");
  assert.equal(format.some(2000, "job"), "2,000 jobs");
});
