import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { meaning } from "../../../src/queuectl/web/static/keys.js";
import { codeOf, PAGES, parse } from "../../../src/queuectl/web/static/routes.js";

test("a hash means a page", () => {
  assert.equal(parse("").name, "overview");
  assert.equal(parse("#/").name, "overview");
  assert.equal(parse("#/queues").name, "queues");
  const jobs = parse("#/jobs?state=dead&queue=a%26b");
  assert.equal(jobs.name, "jobs");
  assert.equal(jobs.query.get("queue"), "a&b");
});

test("the id of a job may have any characters", () => {
  assert.deepEqual(parse("#/jobs/a%2Fb%3Fc").params, { id: "a/b?c" });
  assert.deepEqual(parse("#/jobs/100%").params, { id: "100%" });
});

test("what there is not is no page", () => {
  for (const hash of ["#/nothing", "#/job", "#/constructor", "#/queues/x", "#/jobs/a/b"]) assert.equal(parse(hash).name, null, hash);
});

test("every page has its file", () => {
  for (const [name, page] of Object.entries(PAGES)) {
    const [, file] = /"\.\/(page_\w+\.js)"/.exec(page.load.toString());
    const address = new URL(`../../../src/queuectl/web/static/${file}`, import.meta.url);
    assert.ok(existsSync(address), `${name}: ${file}`);
  }
});

test("the code of a link", () => {
  assert.equal(codeOf("#code=abc-_1"), "abc-_1");
  assert.equal(codeOf("#/jobs?code=abc"), null);
});

test("keys go somewhere, each to another page", () => {
  assert.equal(meaning("g", null), "wait");
  assert.equal(meaning("j", "g"), "#/jobs");
  assert.equal(meaning("j", null), null);
  assert.equal(meaning("n", null), "#/new");
  assert.equal(meaning("/", null), "filter");
  const keys = Object.values(PAGES).map((page) => page.key).filter(Boolean);
  assert.equal(new Set(keys).size, keys.length);
});
