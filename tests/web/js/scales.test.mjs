import assert from "node:assert/strict";
import { test } from "node:test";
import { scale, segments, stacked, timeTicks } from "../../../src/queuectl/web/static/scales.js";

test("an axis begins at 0, holds the most and has few marks", () => {
  for (let most = 0.001; most < 1e7; most *= 1.7) {
    for (const unit of ["", "seconds"]) {
      const axis = scale(most, unit);
      assert.equal(axis.ticks[0], 0);
      assert.ok(axis.most >= most * 0.999999, `${most} ${unit}: ${axis.most}`);
      assert.ok(axis.most <= Math.max(most * 2.6, 1), `${most} ${unit}: ${axis.most} wastes room`);
      assert.ok(axis.ticks.length >= 2 && axis.ticks.length <= 7, `${most} ${unit}: ${axis.ticks}`);
    }
  }
});

test("an axis of few jobs has whole numbers", () => {
  assert.deepEqual(scale(3).ticks, [0, 1, 2, 3]);
  assert.deepEqual(scale(0).ticks, [0, 1]);
});

test("an axis of time has the steps of a clock", () => {
  assert.deepEqual(scale(100, "seconds").ticks, [0, 30, 60, 90, 120]);
  assert.deepEqual(scale(5000, "seconds").ticks, [0, 1800, 3600, 5400]);
});

test("marks of time are at round times and not too many", () => {
  const times = Array.from({ length: 60 }, (_, i) => 1_800_000_120 + i * 60);
  const marks = timeTicks(times, 5);
  assert.ok(marks.length >= 2 && marks.length <= 5, String(marks));
  for (const i of marks) assert.equal(times[i] % 900, 0);
  assert.deepEqual(timeTicks([], 5), []);
  assert.deepEqual(timeTicks([60], 5), [0]);
});

test("what is unknown makes a gap", () => {
  assert.deepEqual(segments([null, 1, 2, null, 3]), [[[1, 1], [2, 2]], [[4, 3]]]);
  assert.deepEqual(segments([null]), []);
  assert.deepEqual(segments([0]), [[[0, 0]]]);
});

test("what is stacked stands on what is below it", () => {
  const [one, other] = stacked([{ values: [1, null, 2] }, { values: [5, 4, null] }]);
  assert.deepEqual(one.tops, [1, null, 2]);
  assert.deepEqual(other.bottoms, [1, 0, 2]);
  assert.deepEqual(other.tops, [6, 4, null]);
});
