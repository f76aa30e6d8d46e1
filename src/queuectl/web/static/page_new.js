/**
 * A form for a new job, with the command line that would do the same.
 */

import { send } from "./api.js";
import { h, replace } from "./dom.js";
import { plain, quote } from "./log.js";
import { command, empty, field, heading, inWords, toast } from "./ui.js";

// name, label, placeholder, hint, type
const FIELDS = [
  ["command", "Command", "tar czf backup.tgz data", "A shell line.", "textarea"],
  ["queue", "Queue", "default"],
  ["priority", "Priority", "0", "Higher runs first."],
  ["max_retries", "Retries", "as configured"],
  ["timeout", "Timeout", "none", "90s, 10m"],
  ["delay", "Delay", "none", "10m, 1h30m"],
  ["run_at", "Run at", "", "In this browser's time zone.", "datetime-local"],
  ["tags", "Tags", "", "a, b"],
  ["after", "After", "", "Ids of jobs that must succeed."],
  ["cwd", "Directory", "the server's"],
  ["env", "Environment", "NAME=value", "One variable a line.", "textarea"],
];
const OPTIONS = { queue: "queue", priority: "priority", max_retries: "max-retries", timeout: "timeout", delay: "delay", run_at: "at", cwd: "cwd" };

const split = (text, by) => text.split(by).map((word) => word.trim()).filter(Boolean);

/** The fields of a job, from what was typed. What is no number is sent as it is: the server tells it best. */
export function fieldsOf(typed) {
  const job = {};
  for (const [name, value] of Object.entries(typed)) {
    if (!value.trim()) continue;
    if (name === "tags") job.tags = split(value, ",");
    else if (name === "after") job.after = split(value, /[\s,]+/);
    else if (name === "run_at") job.run_at = new Date(value).toISOString();
    else if (name === "env") job.env = variables(value);
    else if (/^(priority|max_retries)$/.test(name) && /^\s*-?\d+\s*$/.test(value)) job[name] = Number(value);
    else job[name] = name === "command" ? value : value.trim();
  }
  return job;
}

function variables(text) {
  const found = {};
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`env: write NAME=value, not ${line.slice(0, 40)}`);
    found[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return found;
}

/** `queuectl enqueue …` that stores the same job. */
export function commandLine(job) {
  const line = ["queuectl", "enqueue"];
  for (const [name, option] of Object.entries(OPTIONS)) if (name in job) line.push(`--${option}`, String(job[name]));
  for (const tag of job.tags ?? []) line.push("--tag", tag);
  for (const id of job.after ?? []) line.push("--after", id);
  for (const [name, value] of Object.entries(job.env ?? {})) line.push("--env", `${name}=${value}`);
  // After -- a word that begins with { would be read as JSON.
  line.push(...(/^\s*\{/.test(job.command ?? "") ? ["--command"] : ["--"]), job.command ?? "COMMAND");
  return line.map((word, i) => (i === line.length - 1 && !job.command ? word : quote(word))).join(" ");
}

class NewJob {
  constructor(context) {
    this.context = context;
    this.inputs = {};
    this.troubles = { "": h("div", { class: "trouble", role: "alert" }) };
    this.line = h("div");
    this.go = h("button", { type: "submit", class: "primary" }, "Enqueue");
    const nodes = FIELDS.map(([name, label, placeholder, hint, type]) => {
      const { node, input } = field({ name, label, placeholder, hint, type, rows: "3" });
      this.inputs[name] = input;
      node.append((this.troubles[name] = h("p", { class: "trouble", role: "alert" })));
      if (type === "textarea") node.classList.add("wide");
      return node;
    });
    const form = h(
      "form",
      { class: "panel new-job", "on:submit": (event) => this.submit(event), "on:input": () => this.draw() },
      this.troubles[""],
      h("div", { class: "fields" }, nodes),
      h("h2", null, "The same on the command line"),
      this.line,
      h("div", { class: "buttons" }, this.go),
    );
    replace(context.main, heading("New job"), form);
    this.draw();
    setTimeout(() => this.inputs.command.focus()); // after the frame has set its own
  }

  typed() {
    return fieldsOf(Object.fromEntries(Object.entries(this.inputs).map(([name, input]) => [name, input.value])));
  }

  draw() {
    try {
      replace(this.line, command(plain(commandLine(this.typed()))));
    } catch {
      // Half a variable: it is told when it is sent.
    }
  }

  /** name "": on top. */
  tell(name, text) {
    replace(this.troubles[name], text);
    this.inputs[name]?.setAttribute("aria-invalid", String(text !== ""));
    if (text) this.inputs[name]?.focus();
  }

  async submit(event) {
    event.preventDefault();
    if (this.go.disabled) return;
    for (const name of Object.keys(this.troubles)) this.tell(name, "");
    this.go.disabled = true;
    try {
      const job = await send("POST", "/jobs", this.typed());
      toast("Job enqueued.");
      this.context.go(`#/jobs/${encodeURIComponent(job.id)}`);
    } catch (error) {
      this.tell(this.meant(error), inWords(error));
    }
    this.go.disabled = false;
  }

  /** The field that the message names first. */
  meant({ message }) {
    const text = message.replace("depends_on", "after").replace(/\btag\b/, "tags");
    const places = Object.keys(this.inputs).map((name) => [text.search(new RegExp(`\\b${name}\\b`)), name]);
    return places.filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0])[0]?.[1] ?? "";
  }
}

export default {
  title: "New job",
  open(context) {
    if (context.session.may) new NewJob(context);
    else replace(context.main, heading("New job"), empty("You may only look"));
    return () => {};
  },
};
