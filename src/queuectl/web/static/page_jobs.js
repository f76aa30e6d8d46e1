/**
 * The list of jobs: never more than a page of them is here, and what is chosen stays chosen while it changes.
 */

import { get, query, send } from "./api.js";
import { h, replace, update } from "./dom.js";
import { count, duration, short, some } from "./format.js";
import { follow, live } from "./live.js";
import { oneLine, plain } from "./log.js";
import { ask, badge, busy, button, empty, failure, field, heading, loading, moment, table, toast } from "./ui.js";

const LIMIT = 50;
const COUNT_EVERY_MS = 5_000; // it can be slow
const TEXTS = ["queue", "tag", "search", "since", "before"];
const TABS = ["pending", "processing", "scheduled", "blocked", "failed", "dead", "completed", "cancelled"];
const WAITING = ["pending", "scheduled", "blocked", "failed"];
const SORTS = { created: "Created", updated: "Changed", finished: "Ended", due: "Due", priority: "Priority", id: "Id" };
const USUAL = { sort: "created", reverse: "true" }; // the newest first

/** By verb: from which states, and what it is called when it is done. */
export const VERBS = {
  retry: { from: ["dead", "cancelled", "failed"], done: "will run again" },
  cancel: { from: [...WAITING, "processing"], done: "cancelled", note: "What runs is stopped." },
  hold: { from: WAITING, done: "held" },
  release: { from: ["blocked"], done: "released" },
  delete: { from: [...WAITING, "completed", "dead", "cancelled"], done: "deleted", note: "Attempts and output go too. This cannot be undone." },
};

export function jobLink(id, ...children) {
  return h("a", { href: `#/jobs/${encodeURIComponent(id)}` }, children.length ? children : h("bdi", { class: "mono" }, plain(id)));
}

export function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

export function verbButton(verb, action, label = null) {
  return button(capital(verb), (event) => action(verb, event.currentTarget), { key: verb, label, kind: verb === "delete" ? "danger" : "", admin: true });
}

/** Asks the server how many it would be, asks the person, does it; null if not. `about`: says which these are. */
export async function actOnMany(verb, which, node, { chosen = 0, about = null } = {}) {
  const body = { action: verb, ...which };
  const plan = await busy(node, send("POST", "/jobs/actions", { ...body, dry_run: true }));
  if (!plan) return null;
  if (!plan.count) return toast(`Nothing to ${verb}: the state does not allow it.`, "info"), null;
  const { note, done } = VERBS[verb];
  const left = chosen - plan.count;
  const others = left > 0 && `${some(left, "other")} of the ${count(chosen)} stay as they are: their state does not allow it.`;
  const text = [about, others, note].map((line) => line && h("p", null, line));
  const title = `${capital(verb)} ${some(plan.count, "job")}`;
  if (!(await ask({ title: `${title}?`, text, action: title, danger: Boolean(note) }))) return null;
  const result = await busy(node, send("POST", "/jobs/actions", body));
  if (result) toast(`${some(result.count, "job")} ${done}.`);
  return result ?? null;
}

function readFilter(words) {
  const found = { state: words.getAll("state").join(","), ...USUAL };
  for (const name of [...TEXTS, "held", "cause", "sort", "reverse"]) found[name] = words.get(name) || found[name] || "";
  return found;
}

/** As it stands in the address: only what is not as usual. */
function written(filter) {
  return Object.fromEntries(Object.entries(filter).filter(([name, value]) => value && value !== USUAL[name]));
}

function asBody(filter) {
  const { sort, reverse, ...body } = written(filter);
  if (body.state) body.state = body.state.split(",");
  if (body.held) body.held = body.held === "true";
  return body;
}

function inWordsOf(body) {
  const said = Object.entries(body).map(([name, value]) => (name === "cause" ? name : `${name} ${oneLine(value, 60)}`));
  return `All jobs${said.length ? ` with this ${said.join(", ")}` : ""}.`;
}

let remembered = null; // who comes back finds the same page

class Jobs {
  constructor(context) {
    this.context = context;
    this.filter = readFilter(context.query);
    this.admin = context.session.may;
    this.chosen = new Map(); // id -> state
    this.all = false; // all that match, on whichever page
    this.jobs = this.next = null;
    this.counts = live.stats?.jobs;
    this.counted = null; // {key, total, at}
    const known = remembered?.key === this.key ? remembered : null;
    this.trail = known?.trail ?? [null]; // the cursors of the pages up to this one
    this.at = known?.at ?? null; // the job the keyboard is at
    this.tabs = h("nav", { class: "tabs", "aria-label": "By state" });
    this.bar = this.makeBar();
    this.list = h("div", { class: "job-list" }, loading());
    replace(context.main, heading("Jobs"), this.tabs, this.bar, this.list);
    this.onKey = (event) => this.press(event);
    document.addEventListener("keydown", this.onKey);
    this.offStats = live.on("stats", ({ jobs }) => {
      if (!this.filter.queue) this.counts = jobs;
      this.draw();
    });
    this.timer = setInterval(() => this.draw(), 10_000);
    this.following = follow(() => this.load(), (error) => this.fail(error));
  }

  close() {
    remembered = { key: this.key, trail: this.trail, at: this.at };
    this.following.stop();
    this.offStats();
    clearInterval(this.timer);
    clearTimeout(this.typing);
    document.removeEventListener("keydown", this.onKey);
  }

  get key() {
    return query(this.filter);
  }

  async load() {
    const { key, filter } = this;
    const cursor = this.trail.at(-1);
    const [page, stats] = await Promise.all([
      get("/jobs", { ...filter, limit: LIMIT, cursor }),
      filter.queue || !live.stats ? get("/stats", { queue: filter.queue }) : live.stats,
    ]);
    if (key !== this.key || cursor !== this.trail.at(-1)) return; // another page is wanted by now
    if (!page.jobs.length && this.trail.length > 1) {
      this.trail.pop();
      return void this.following.again();
    }
    const first = this.jobs === null;
    this.jobs = page.jobs;
    this.next = page.next;
    this.counts = stats.jobs;
    for (const { id, state } of page.jobs) if (this.chosen.has(id)) this.chosen.set(id, state);
    this.draw();
    if (first) this.tabs.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    this.countAll().catch(() => {}); // the jobs are here without it
  }

  async countAll() {
    const { key } = this;
    if (this.plainTotal() !== null || (this.counted?.key === key && Date.now() - this.counted.at < COUNT_EVERY_MS)) return;
    this.counted = { key, total: this.total, at: Date.now() };
    const { total } = await get("/jobs", { ...this.filter, limit: 1, count: true });
    this.counted = { key, total, at: Date.now() };
    this.draw();
  }

  /** How many match, if the counts by state tell it. */
  plainTotal() {
    const { state = TABS, queue, ...others } = asBody(this.filter);
    return this.counts && !Object.keys(others).length ? this.sum(state) : null;
  }

  sum(states) {
    return states.reduce((sum, state) => sum + (this.counts[state] ?? 0), 0);
  }

  get total() {
    return this.plainTotal() ?? (this.counted?.key === this.key ? this.counted.total : null);
  }

  fail(error) {
    if (this.jobs && (error.status === 0 || error.status === 503)) return; // the frame tells it
    this.jobs = null;
    update(this.list, failure(error, () => this.following.again()));
  }

  /** Another filter: from its first page, with nothing chosen. */
  set(changes) {
    Object.assign(this.filter, changes);
    this.trail = [null];
    this.at = null;
    this.choose([]);
    this.context.setQuery(written(this.filter));
    update(this.bar, [...this.makeBar().childNodes]);
    this.following.again();
  }

  turn(forward) {
    if (forward) this.trail.push(this.next);
    else this.trail.pop();
    this.at = this.next = null;
    this.following.again();
    scrollTo(0, 0);
  }

  makeBar() {
    const { filter } = this;
    const make = (name, label, more = {}) =>
      field({ name, label, value: filter[name], "on:change": (event) => this.set({ [name]: event.target.value.trim() }), ...more }).node;
    const choice = (name, label, options) => make(name, label, { type: "select", options: Object.entries(options) });
    const typed = (event) => {
      clearTimeout(this.typing);
      const search = event.target.value.trim();
      this.typing = setTimeout(() => search !== this.filter.search && this.set({ search }), 300);
    };
    const active = Object.keys(asBody({ ...filter, state: "", search: "" })).length;
    const none = Object.fromEntries([...TEXTS, "held", "cause"].map((name) => [name, ""]));
    return h(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter", "on:submit": (event) => event.preventDefault() },
      make("search", "Search", { type: "search", placeholder: "command or id", "on:input": typed }),
      h(
        "details",
        { open: innerWidth > 760 || active > 0 },
        h("summary", null, active ? `Filters (${active})` : "Filters"),
        h(
          "div",
          { class: "more" },
          make("queue", "Queue"),
          make("tag", "Tag"),
          make("since", "Since", { placeholder: "10m, 9:00" }),
          make("before", "Before", { placeholder: "1h, mon" }),
          choice("held", "Held", { "": "any", true: "held", false: "not held" }),
          choice("sort", "Sort by", SORTS),
          choice("reverse", "Order", { true: "falling", false: "rising" }),
          filter.cause && button("Of one cause ×", () => this.set({ cause: "" })),
          (active > 0 || filter.search) && button("Clear filters", () => this.set(none), { kind: "quiet" }),
        ),
      ),
    );
  }

  draw() {
    if (this.jobs === null) return;
    const { length } = this.jobs;
    update(this.tabs, ["", ...TABS].map((state) => this.tab(state)));
    update(this.list, this.admin && length > 0 && this.bulk(), length ? this.table() : this.nothing(), length > 0 && this.pager());
    // `update` leaves alone what has the focus.
    const [page, ...boxes] = this.list.querySelectorAll("input[data-id]");
    for (const box of boxes) box.checked = this.isChosen(box.dataset.id);
    const n = boxes.filter((box) => box.checked).length;
    if (page) Object.assign(page, { checked: n === length, indeterminate: n > 0 && n < length });
  }

  tab(state) {
    const n = this.sum(state ? [state] : TABS);
    const href = `#/jobs${query({ ...written(this.filter), state, cause: "" })}`;
    const here = state === this.filter.state ? "page" : null;
    return h("a", { href, "aria-current": here, title: some(n, "job") }, capital(state || "all"), h("span", { class: "n" }, short(n)));
  }

  table() {
    const columns = [
      this.admin && { title: "Choose", hide: true, class: "pick", cell: (job) => h("input", { type: "checkbox", "dataset-id": job.id, "aria-label": `Choose ${job.id}`, "on:click": () => this.toggle(job) }) },
      { title: "State", class: "state", cell: (job) => [badge(job.state), job.held && h("span", { class: "muted" }, " held")] },
      { title: "Job", head: true, class: "job", cell: (job) => this.what(job) },
      { title: "Queue", class: "queue", cell: (job) => h("bdi", null, oneLine(job.queue, 64)) },
      { title: "Prio", numeric: true, class: "prio", cell: (job) => job.priority },
      { title: "Tries", numeric: true, class: "tries", cell: (job) => `${job.attempts}/${job.max_retries + 1}` },
      { title: "Created", class: "created", cell: (job) => moment(job.created_at) },
      { title: "Last", class: "last", cell: lastEvent },
    ].filter(Boolean);
    const row = ({ id }) => ({ class: `${id === this.at ? "at" : ""} ${this.isChosen(id) ? "chosen" : ""}` });
    const made = table(columns, this.jobs, { key: (job) => job.id, label: "Jobs", row });
    made.classList.add("jobs");
    return made;
  }

  what(job) {
    const link = jobLink(job.id, h("bdi", { class: "mono" }, oneLine(job.command, 240)));
    link.className = "what";
    link.title = plain(job.command.slice(0, 2000));
    return [
      link,
      h(
        "div",
        { class: "under" },
        h("bdi", { class: "mono muted" }, oneLine(job.id, 80)),
        job.tags.slice(0, 6).map((tag) => h("bdi", { class: "chip" }, oneLine(tag, 40))),
        /failed|dead/.test(job.state) && h("bdi", { class: "why" }, oneLine(job.last_error, 120)),
        job.progress !== undefined && progress(job),
      ),
    ];
  }

  nothing() {
    if (Object.keys(asBody(this.filter)).length) return empty("No job matches");
    return empty("There are no jobs yet", null, 'queuectl enqueue "echo hello"');
  }

  pager() {
    const { total, trail, jobs } = this;
    const before = (trail.length - 1) * LIMIT;
    const range = `${count(before + 1)}–${count(before + jobs.length)}`;
    const pages = total === null ? "" : ` · page ${trail.length} of ${count(Math.max(1, Math.ceil(total / LIMIT)))}`;
    return h(
      "div",
      { class: "toolbar pager" },
      h("span", { class: "muted", role: "status" }, `${range} of ${total === null ? "…" : count(total)}${pages}`),
      button("← Previous", () => this.turn(false), { "aria-disabled": trail.length < 2 ? "true" : null }),
      button("Next →", () => this.turn(true), { "aria-disabled": this.next ? null : "true" }),
    );
  }

  isChosen(id) {
    return this.all || this.chosen.has(id);
  }

  choose(jobs) {
    this.all = false;
    this.chosen = new Map(jobs.map(({ id, state }) => [id, state]));
    this.draw();
  }

  toggle({ id, state }) {
    if (this.all) this.choose(this.jobs); // one less than all: of this page
    if (!this.chosen.delete(id)) this.chosen.set(id, state);
    this.at = id;
    this.draw();
  }

  bulk() {
    const n = this.all ? this.total : this.chosen.size;
    const here = this.jobs.filter((job) => this.isChosen(job.id)).length;
    const page = { "aria-label": "Choose all on this page", "on:click": () => this.choose(here < this.jobs.length ? this.jobs : []) };
    const states = this.all ? (asBody(this.filter).state ?? TABS) : [...this.chosen.values()];
    const verbs = n ? Object.keys(VERBS).filter((verb) => VERBS[verb].from.some((state) => states.includes(state))) : [];
    const more = n > 0 && !this.all && here === this.jobs.length && (this.next || this.trail.length > 1);
    return h(
      "div",
      { class: n ? "bulk on" : "bulk", role: "toolbar", "aria-label": "With the chosen jobs" },
      h("label", { class: "check" }, h("input", { type: "checkbox", "dataset-id": "", ...page }), h("span", { role: "status" }, !n ? "Choose all" : this.all ? `All ${count(n)} matching` : `${count(n)} chosen`)),
      more && button(`Choose all ${count(this.total)} matching`, () => ((this.all = true), this.draw()), { kind: "quiet" }),
      verbs.map((verb) => verbButton(verb, (...about) => this.act(...about))),
      n > 0 && button("Clear", () => this.choose([]), { kind: "quiet" }),
    );
  }

  async act(verb, node) {
    const filter = asBody(this.filter);
    const which = !this.all ? { ids: [...this.chosen.keys()] } : Object.keys(filter).length ? { filter } : { all: true };
    const chosen = this.all ? this.total : this.chosen.size;
    if ((await actOnMany(verb, which, node, { chosen, about: this.all && inWordsOf(filter) })) === null) return;
    this.counted = null;
    this.choose([]);
    this.following.again();
  }

  press(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !this.jobs?.length) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog") || keysAreOff()) return;
    const index = this.jobs.findIndex((job) => job.id === this.at);
    if (event.key === "j" || event.key === "k") this.moveTo(event.key === "j" ? index + 1 : Math.max(index - 1, 0));
    else if (event.key === "x" && index >= 0 && this.admin) this.toggle(this.jobs[index]);
    else if (event.key === "Enter" && index >= 0 && !event.target.closest("a, button, summary")) this.context.go(`#/jobs/${this.at}`);
    else if (event.key === "Escape") this.choose([]);
    else return;
    event.preventDefault();
  }

  moveTo(index) {
    this.at = this.jobs[Math.min(index, this.jobs.length - 1)].id;
    this.draw();
    const row = this.list.querySelector("tr.at");
    row.querySelector("a.what").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }
}

/** As keys.js has it. */
function keysAreOff() {
  try {
    return localStorage.getItem("queuectl-keys") === "off";
  } catch {
    return false;
  }
}

export function progress(job) {
  return h("span", { class: "check" }, h("progress", { max: "100", value: job.progress }), `${job.progress} %`, h("bdi", null, oneLine(job.progress_text, 60)));
}

function lastEvent(job) {
  if (job.state === "processing") return `running ${duration((Date.now() - Date.parse(job.started_at)) / 1000)}`;
  if (job.finished_at) return ["ended ", moment(job.finished_at)];
  if (job.next_run_at && Date.parse(job.next_run_at) > Date.now()) return ["due ", moment(job.next_run_at)];
  return "";
}

export default {
  title: "Jobs",
  open(context) {
    const page = new Jobs(context);
    return () => page.close();
  },
};
