/**
 * One job: how it stands and why, what can be done with it, what it prints.
 */

import { address, get, query, send } from "./api.js";
import { h, replace, update } from "./dom.js";
import { bytes, duration, some } from "./format.js";
import { live } from "./live.js";
import { LogView, oneLine, plain } from "./log.js";
import { capital, jobLink, progress, verbButton, VERBS } from "./page_jobs.js";
import { ask, askFor, badge, busy, button, command, empty, failure, heading, loading, moment, table } from "./ui.js";

const WAITING = VERBS.hold.from;
const MOST_SHOWN = 50; // attempts

class JobPage {
  constructor(context) {
    this.context = context;
    this.id = context.params.id;
    this.path = `/jobs/${encodeURIComponent(this.id)}`;
    this.attempt = Number(context.query.get("attempt")) || null; // null: the latest
    this.shown = null; // the attempt whose output is here
    this.anew = true;
    this.job = this.explained = null;
    this.select = h("select", { "aria-label": "Attempt", "on:change": (event) => this.lookAt(Number(event.target.value) || null) });
    this.download = h("a", { class: "button", download: true }, "Download");
    this.log = new LogView(this.select, this.download);
    this.head = h("div", { class: "job-head" }, heading(plain(this.id)), loading());
    this.side = h("div", { class: "job-side" });
    this.runs = h("div");
    replace(context.main, this.head);
    this.offs = [
      live.on("job", (job) => job.id === this.id && this.take(job)),
      live.on("output", (data) => this.output(data)),
      live.on("reset", () => this.reload((this.anew ||= this.attempt === null))), // output starts again
    ];
    this.timer = setInterval(() => this.explain(), 10_000);
    live.look({ job: this.id, attempt: this.attempt });
    this.reload();
  }

  close() {
    this.closed = true;
    this.offs.forEach((off) => off());
    clearInterval(this.timer);
  }

  async reload() {
    try {
      this.take(await get(this.path));
    } catch (error) {
      if (this.closed || this.job) return;
      if (error.status === 404) this.gone("There is no such job");
      else replace(this.context.main, failure(error, () => this.reload()));
    }
  }

  take(job) {
    if (this.closed) return;
    if (job.deleted) return this.gone(this.job ? "This job was deleted" : "There is no such job");
    if (!this.job) {
      const main = h("div", { class: "job-main" }, this.log.node, this.runs);
      if (!this.head.isConnected) replace(this.context.main, this.head);
      this.context.main.append(h("div", { class: "job-grid" }, main, this.side)); // the heading keeps the focus
    }
    this.job = job;
    this.draw();
    this.explain();
  }

  gone(title) {
    this.job = null;
    replace(this.context.main, heading("Job"), empty(title, plain(this.id), h("a", { class: "button", href: "#/jobs" }, "All jobs")));
  }

  async explain() {
    if (!this.job) return;
    try {
      this.explained = await get(`${this.path}/explain`);
    } catch {
      this.explained = null; // it may be gone by now; the stream says so
    }
    if (this.job && !this.closed) this.draw();
  }

  lookAt(attempt) {
    if (attempt === this.attempt) return;
    this.attempt = attempt;
    this.anew = true;
    live.look({ job: this.id, attempt });
    this.context.setQuery({ attempt });
  }

  output(data) {
    const other = data.attempt !== this.shown;
    this.shown = data.attempt;
    this.log.add(data, this.anew || other || data.restart);
    this.anew = false;
    this.download.href = address(`${this.path}/output`, { attempt: data.attempt });
    this.download.hidden = data.attempt === null;
  }

  draw() {
    const { job } = this;
    update(
      this.head,
      heading(plain(job.id), this.buttons()),
      h("div", { class: "toolbar job-state" }, badge(job.state), job.held && h("span", { class: "chip" }, "held"), job.progress !== undefined && progress(job)),
      h("pre", { class: "panel job-command wrap", tabindex: "0", "aria-label": "Command" }, h("bdi", null, plain(job.command))),
    );
    update(this.side, this.why(), this.death(), this.timeline(), this.details(), panel("On the command line", command(plain(job.command_line))));
    update(this.runs, this.attempts());
    const runs = job.history.map((one) => one.attempt).slice(-200);
    update(this.select, h("option", { value: "" }, "latest"), runs.reverse().map((run) => h("option", { value: run }, `attempt ${run}`)));
    this.select.value = this.attempt ?? "";
    this.select.hidden = runs.length < 2;
  }

  buttons() {
    if (!this.context.session.may) return null;
    const { state, held } = this.job;
    const may = (verb) => VERBS[verb].from.includes(state) && (verb !== "hold" || !held) && (verb !== "release" || held);
    return [
      WAITING.includes(state) && button("Edit", () => this.edit(), { key: "edit", admin: true }),
      Object.keys(VERBS).filter(may).map((verb) => verbButton(verb, (...about) => this.act(...about))),
    ];
  }

  async act(verb, node) {
    const { done, note } = VERBS[verb];
    const title = `${capital(verb)} this job`;
    if (note && !(await ask({ title: `${title}?`, text: note, action: title, danger: true }))) return;
    const sent = verb === "delete" ? send("DELETE", this.path) : send("POST", `${this.path}/${verb}`);
    const stops = verb === "cancel" && this.job.state === "processing";
    if (!(await busy(node, sent, stops ? "Its worker stops it." : `Job ${done}.`))) return;
    if (verb === "delete") this.context.go("#/jobs");
    else this.reload();
  }

  async edit() {
    const { job } = this;
    const was = { priority: String(job.priority), timeout: timeoutOf(job), run_at: "" };
    const save = (values) => {
      const changed = Object.entries(values).filter(([name, value]) => value !== was[name]);
      const number = ([name, value]) => [name, name === "priority" && /^-?\d+$/.test(value) ? Number(value) : value || null];
      return changed.length ? send("PATCH", this.path, Object.fromEntries(changed.map(number))) : null;
    };
    const fields = [
      { name: "priority", label: "Priority", value: was.priority },
      { name: "timeout", label: "Timeout", value: was.timeout, placeholder: "none", hint: "90s, 10m, 300%" },
      { name: "run_at", label: "Run at", placeholder: "as it is", hint: "+10m, 17:30, 2026-12-01 09:00 where the server is" },
    ];
    if (await askFor({ title: "Edit this job", action: "Save", fields, send: save })) this.reload();
  }

  why() {
    const found = this.explained;
    if (!found) return null;
    const reason = (one) => h("li", null, plain(one.text), one.remedy && remedy(one.remedy));
    return panel("Why", h("p", { class: "title" }, plain(found.verdict)), found.reasons.length > 0 && h("ul", { class: "reasons" }, found.reasons.map(reason)));
  }

  /** Of the last attempt that failed, unless the job got over it. */
  death() {
    const died = this.job.state === "completed" ? null : this.job.history.findLast((one) => one.report);
    if (!died) return null;
    const { text, hint, used, stderr } = died.report;
    return panel(
      `How attempt ${died.attempt} died`,
      h("p", { class: "title" }, plain(text)),
      hint && h("p", { class: "muted" }, plain(hint)),
      used && h("p", null, plain(used)),
      stderr.length > 0 && h("pre", { class: "wrap", tabindex: "0", "aria-label": "Last lines of stderr" }, h("bdi", null, plain(stderr.join("\n")))),
    );
  }

  timeline() {
    const { job } = this;
    const step = (state, text, at) => h("li", { "dataset-state": state }, text, moment(at));
    const waits = WAITING.includes(job.state) && job.next_run_at;
    const steps = job.history.slice(-8).flatMap((one) => [
      step("processing", `Attempt ${one.attempt} started`, one.started_at),
      one.finished_at && step(STATE_OF[one.outcome] ?? "failed", `Attempt ${one.attempt} ${words(one.outcome)} in ${duration(span(one))}`, one.finished_at),
    ]);
    return panel(
      "Timeline",
      h(
        "ol",
        { class: "timeline" },
        step("pending", "Created", job.created_at),
        job.history.length > 8 && h("li", { class: "muted" }, some(job.history.length - 8, "earlier attempt")),
        steps,
        waits && step("scheduled", job.history.length ? "Due again" : "Due", job.next_run_at),
        job.finished_at && step(job.state, `Ended: ${job.state}`, job.finished_at),
      ),
    );
  }

  details() {
    const { job } = this;
    const ran = job.history.findLast((one) => one.cpu_seconds !== null && one.cpu_seconds !== undefined);
    const ids = (list) => list?.length > 0 && [list.slice(0, 50).map((id) => [jobLink(id), " "]), list.length > 50 && "…"];
    const rows = [
      ["Queue", h("a", { href: `#/jobs${query({ queue: job.queue })}` }, plain(job.queue))],
      ["Priority", job.priority],
      ["Tries", `${job.attempts} of ${job.max_retries + 1}`],
      ["Error", job.last_error && h("bdi", { class: "mono wrap" }, plain(job.last_error.slice(0, 2000)))],
      ["Timeout", job.timeout !== null && duration(job.timeout)],
      ["Timeout by history", job.timeout_percent && `${job.timeout_percent}% of its usual run time`],
      ["Usually takes", typeof job.usual_seconds === "number" && duration(job.usual_seconds)],
      ["CPU time", ran && duration(ran.cpu_seconds)],
      ["Peak memory", ran?.max_rss_kb && bytes(ran.max_rss_kb * 1024)],
      ["Tags", job.tags.length > 0 && job.tags.map((tag) => [h("a", { class: "chip", href: `#/jobs${query({ tag })}` }, plain(tag)), " "])],
      ["After", ids(job.depends_on)],
      ["After the end of", ids(job.after_any)],
      ["After failure of", ids(job.after_fail)],
      ["Directory", job.cwd],
      ["Environment", Object.keys(job.env).join(", ") || null],
      ["Tells of", job.about && jobLink(job.about)],
      ["Notify", job.notify && [plain(job.notify), job.notify_on && ` (${job.notify_on.join(", ")})`]],
      ["Notified", job.notifications && job.notifications.map((one) => [jobLink(one.id), " ", badge(one.state), " "])],
      ...["group", "needs", "unique_key", "schedule"].map((name) => [capital(words(name)), job[name]]),
    ];
    const shown = rows.filter(([, value]) => (value ?? false) !== false);
    const pair = ([name, value]) => [h("dt", null, name), h("dd", null, typeof value === "string" ? h("bdi", null, plain(value)) : value)];
    return panel("Details", h("dl", { class: "kv" }, shown.map(pair)));
  }

  attempts() {
    const all = this.job.history;
    if (!all.length) return null;
    const columns = [
      { title: "#", cell: (one) => one.attempt },
      { title: "Outcome", cell: ({ outcome }) => badge(STATE_OF[outcome] ?? "failed", words(outcome)) },
      { title: "Started", cell: (one) => moment(one.started_at) },
      { title: "Took", cell: (one) => duration(span(one)) },
      { title: "CPU", cell: (one) => duration(one.cpu_seconds) },
      { title: "Memory", cell: (one) => bytes(one.max_rss_kb * 1024 || null) },
      { title: "Output", cell: (one) => bytes(one.output_bytes) },
      { title: "Worker", cell: (one) => h("bdi", { class: "mono" }, plain(one.worker_id)) },
      { title: "Error", cell: ({ error }) => (error ? h("bdi", { class: "why" }, oneLine(error, 200)) : "–") },
    ];
    const rows = table(columns, all.slice(-MOST_SHOWN).reverse(), { key: (one) => one.attempt, label: "Attempts" });
    return panel(all.length > MOST_SHOWN ? `The last ${MOST_SHOWN} attempts` : "Attempts", rows);
  }
}

const STATE_OF = { succeeded: "completed", running: "processing", cancelled: "cancelled" };

function timeoutOf({ timeout, timeout_percent }) {
  if (timeout_percent) return `${timeout_percent}%`;
  return timeout === null ? "" : `${timeout}s`;
}

function words(outcome) {
  return plain(outcome).replaceAll("_", " ");
}

function span({ started_at, finished_at }) {
  return started_at ? ((finished_at ? Date.parse(finished_at) : Date.now()) - Date.parse(started_at)) / 1000 : null;
}

function panel(title, ...children) {
  return h("section", { class: "panel", key: title }, h("h2", null, title), children);
}

/** A command can be copied; other advice is only read. */
function remedy(text) {
  const at = text.indexOf("queuectl ");
  const words = at < 0 ? text : text.slice(0, at);
  return [words && h("p", { class: "muted" }, plain(words)), at >= 0 && command(plain(text.slice(at)))];
}

export default {
  title: "Job",
  open(context) {
    const page = new JobPage(context);
    return () => page.close();
  },
};
