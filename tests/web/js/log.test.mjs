// What jobs print is shown whole, in order, and never obeyed. Run: node --test tests/web/js
import assert from "node:assert/strict";
import { test } from "node:test";

import { Lines, classes, clock, cut, oneLine, parts, plain, quote, search, styled } from "../../../src/queuectl/web/static/log.js";
import { commandLine, fieldsOf } from "../../../src/queuectl/web/static/page_new.js";

const out = (text, at = 0) => ({ stream: "stdout", at, text });
const err = (text, at = 0) => ({ stream: "stderr", at, text });
const texts = (lines) => lines.lines.map((line) => line.text);

test("pieces become lines, however they are cut", () => {
  const lines = new Lines();
  for (const letter of "one\ntwo\r\nthree\rfour\n\nend") lines.add([out(letter)]);
  assert.deepEqual(texts(lines), ["one", "two", "three", "four", "", "end"]);
});

test("a line goes on where it was although the other stream spoke in between", () => {
  const lines = new Lines();
  lines.add([out("half "), err("oops\n"), out("and half\n")]);
  assert.deepEqual(lines.lines.map((line) => [line.stream, line.text]), [["stdout", "half and half"], ["stderr", "oops"]]);
});

test("what is new or has grown is told, in order", () => {
  const lines = new Lines();
  assert.deepEqual(lines.add([out("a\nb")]).map((line) => line.number), [1, 2]);
  assert.deepEqual(lines.add([out("b\nc\n")]).map((line) => line.text), ["bb", "c"]);
});

test("colours become classes, across pieces too", () => {
  const lines = new Lines();
  lines.add([out("\x1b[3"), out("1mred\x1b[0m plain \x1b[1;42mbold\n")]);
  assert.deepEqual(lines.lines[0].runs, [
    { text: "red", classes: "sgr-f1" },
    { text: " plain ", classes: "" },
    { text: "bold", classes: "sgr-heavy sgr-b2" },
  ]);
});

test("each stream has its own colours", () => {
  const lines = new Lines();
  lines.add([out("\x1b[31mred "), err("none\n"), out("still\n")]);
  assert.equal(lines.lines[1].runs[0].classes, "");
  assert.equal(lines.lines[0].runs.at(-1).classes, "sgr-f1");
});

test("wide colours are skipped with all their numbers, and text is never hidden", () => {
  assert.equal(classes(styled({}, "38;2;1;2;3;1")), "sgr-heavy");
  assert.equal(classes(styled({}, "38;5;196;4")), "sgr-line");
  assert.equal(classes(styled({}, "38;5;9")), "sgr-f1");
  assert.equal(classes(styled({}, "8")), "");
  assert.equal(classes(styled({}, "30;40")), "sgr-f0"); // black on black
  assert.equal(classes(styled(styled({}, "1;31"), "")), "");
  assert.equal(classes(styled(styled({}, "1;31;44"), "22;39")), "sgr-b4");
});

test("other control characters are shown, not obeyed", () => {
  const lines = new Lines();
  lines.add([out("a\x1b[2Jb\x07\x1b]0;title\x07 \u202eevil\u202c \x00 erased\x1b[K\n")]);
  assert.equal(texts(lines)[0], "a\\x1b[2Jb\\x07\\x1b]0;title\\x07 \\u202eevil\\u202c \\x00 erased");
  assert.ok(lines.lines[0].runs.some((run) => run.text === "\\u202e" && run.classes === "esc"));
});

test("a very long line is cut, not lost, and no character is broken", () => {
  const lines = new Lines();
  lines.add([out("x".repeat(3_999) + "😀" + "y".repeat(5_000) + "\n")]);
  assert.equal(texts(lines).join(""), "x".repeat(3_999) + "😀" + "y".repeat(5_000));
  assert.ok(texts(lines).every((text) => text.length <= 4_001));
});

test("only the last lines are kept", () => {
  const lines = new Lines(3);
  const told = lines.add([out("1\n2\n3\n4\n5\n")]);
  assert.deepEqual(texts(lines), ["3", "4", "5"]);
  assert.equal(told.length, 3);
  assert.equal(lines.dropped, 2);
});

test("a line that was dropped while it was open goes on as a new one", () => {
  const lines = new Lines(2);
  lines.add([out("begun"), err("1\n2\n3\n"), out(" more\n")]);
  lines.add([out("x\n")]);
  assert.deepEqual(texts(lines), ["3", "x"]);
});

test("a gap says that something is missing", () => {
  const lines = new Lines();
  lines.add([{ stream: "gap", at: 5, text: "" }]);
  assert.match(texts(lines)[0], /missing/);
});

test("search finds text in any case and takes it literally", () => {
  const lines = new Lines();
  lines.add([out("Error: a.b (x)\nerror\nok\n")]);
  assert.deepEqual(search(lines.lines, "ERROR").map((hit) => [hit.line.number, hit.start, hit.end]), [[1, 0, 5], [2, 0, 5]]);
  assert.equal(search(lines.lines, "a.b (x)").length, 1);
  assert.equal(search(lines.lines, "a*b").length, 0);
  assert.equal(search(lines.lines, "").length, 0);
});

test("hits are cut out of runs, also over the border of two", () => {
  const hit = { start: 1, end: 4 };
  const found = cut([{ text: "abc", classes: "x" }, { text: "def", classes: "" }], [hit]);
  assert.deepEqual(found.map((run) => [run.text, run.classes, run.hit === hit]), [
    ["a", "x", false],
    ["bc", "x", true],
    ["d", "", true],
    ["ef", "", false],
  ]);
});

test("nothing invisible stays invisible", () => {
  assert.equal(plain("a\u202eb\u200b\u0007\ud800\u{e0041}\tc\nd"), "a\\u202eb\\u200b\\x07\\ud800\\u{e0041}\tc\nd");
  assert.equal(plain("<b>ä 日本 👩‍👧</b>"), "<b>ä 日本 👩‍👧</b>");
  assert.equal(plain(null), "");
  assert.deepEqual(parts("a\rb"), [{ text: "a", escape: false }, { text: "\\x0d", escape: true }, { text: "b", escape: false }]);
  assert.equal(oneLine("a\n  b\tc"), "a ⏎ b c");
  assert.equal(oneLine("x".repeat(500), 10), "x".repeat(10) + "…");
});

test("words are quoted as a shell wants them", () => {
  assert.equal(quote("a-b_c=1"), "a-b_c=1");
  assert.equal(quote("it's"), `'it'"'"'s'`);
  assert.equal(quote(""), "''");
  assert.equal(quote("$(x)\n"), "'$(x)\n'");
  assert.equal(quote("é"), "'é'");
});

test("times since the start", () => {
  assert.equal(clock(83_420), "1:23.4");
  assert.equal(clock(3_659_990), "60:59.9");
  assert.equal(clock(0), "0:00.0");
});

test("a form becomes the fields of a job, and the command line that says the same", () => {
  const job = fieldsOf({ command: " echo 'hi' ", queue: " mail ", priority: "5", max_retries: "x", tags: "a, b c,", after: "j1 j2,j3", env: "A=1\nB=x=y", cwd: "", timeout: "" });
  assert.deepEqual(job, { command: " echo 'hi' ", queue: "mail", priority: 5, max_retries: "x", tags: ["a", "b c"], after: ["j1", "j2", "j3"], env: { A: "1", B: "x=y" } });
  assert.equal(
    commandLine(job),
    `queuectl enqueue --queue mail --priority 5 --max-retries x --tag a --tag 'b c' --after j1 --after j2 --after j3 --env A=1 --env B=x=y -- ' echo '"'"'hi'"'"' '`,
  );
  assert.equal(commandLine({ command: "{a}" }), "queuectl enqueue --command '{a}'");
  assert.equal(commandLine({}), "queuectl enqueue -- COMMAND");
  assert.throws(() => fieldsOf({ env: "novalue" }), /env/);
});
