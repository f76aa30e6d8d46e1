/**
 * The parts that pages are made of. Classes for the rest are listed at the top of app.css.
 */

import { h, replace } from "./dom.js";
import { stamp, when } from "./format.js";

let counter = 0;

/** An id for a label and what it labels. */
export function newId(stem = "n") {
  return `${stem}-${++counter}`;
}

/** A job's state: a coloured dot and the word. */
export function badge(state, text = state) {
  return h("span", { class: "badge", "dataset-state": state }, text);
}

/** Text that matters less. */
export function muted(...text) {
  return h("span", { class: "muted" }, text);
}

/** 3m ago; in full when pointed at. */
export function moment(iso) {
  return iso ? h("time", { datetime: iso, title: stamp(iso) }, when(iso)) : muted("–");
}

/**
 * A button. `kind`: "" | "primary" | "danger" | "quiet". `admin`: it changes something, so a session that may
 * only look does not see it. `label`: what it is called where its text alone does not tell (in a row of a table).
 */
export function button(text, action, { kind = "", admin = false, label = null, ...more } = {}) {
  const classes = [kind, admin && "act"].filter(Boolean).join(" ");
  return h("button", { type: "button", class: classes || null, "aria-label": label, "on:click": action, ...more }, text);
}

/** The page's heading with what stands beside it. The focus comes here when the page is opened. */
export function heading(title, ...beside) {
  return h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title), h("div", { class: "beside" }, beside));
}

/** Says something, for a while. kind: "ok" | "error" | "info". Errors stay until they are closed. */
export function toast(text, kind = "ok") {
  const place = document.getElementById("toasts");
  if (!place) return;
  const close = () => note.remove();
  const note = h(
    "div",
    { class: "toast", "dataset-kind": kind, role: kind === "error" ? "alert" : null },
    h("span", null, text),
    button("×", close, { kind: "quiet", label: "Close this message" }),
  );
  place.append(note);
  while (place.children.length > 4) place.firstChild.remove();
  if (kind !== "error") setTimeout(close, 5000);
}

/** An error in one line, as for a toast. */
export function inWords(error) {
  const sentence = (text) => (text.startsWith("queuectl ") ? text : text.charAt(0).toUpperCase() + text.slice(1));
  const text = sentence(String(error?.message ?? error)).replace(/\.?$/, ".");
  return error?.hint ? `${text} ${sentence(error.hint)}` : text;
}

/** Asks yes or no → Promise<boolean>. `text` may be a node. */
export async function ask({ title, text = null, action = "OK", danger = false }) {
  return (await askFor({ title, text, action, danger })) !== null;
}

/**
 * Asks for values → Promise<{name: text} | null>. fields: as of `field`.
 * `send(values)`: does it while the dialog is open; what fails is shown there, and may be mended.
 */
export function askFor({ title, text = null, action = "OK", danger = false, fields = [], send = null }) {
  return dialog(title, (end) => {
    const trouble = h("div", { class: "trouble", role: "alert" });
    const inputs = fields.map((one, i) => field({ ...one, autofocus: i === 0 }));
    const go = h("button", { type: "submit", class: danger ? "danger" : "primary", autofocus: !fields.length && !danger }, action);
    const submit = async () => {
      const values = Object.fromEntries(fields.map((one, i) => [one.name, inputs[i].input.value.trim()]));
      if (go.disabled) return;
      go.disabled = true;
      try {
        await send?.(values);
        end(values);
      } catch (error) {
        replace(trouble, inWords(error));
        go.disabled = false;
        (inputs[0]?.input ?? go).focus();
      }
    };
    const buttons = h("div", { class: "buttons" }, button("Back", () => end(null)), go);
    return { submit, parts: [text && h("div", { class: "muted" }, text), inputs.map((one) => one.node), trouble, buttons] };
  });
}

/** A dialog → Promise of what `end` was called with, null if it was left. build(end) → {parts: children, submit()}. */
export function dialog(title, build) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const id = newId("dialog");
    const end = (result = null) => {
      node.close();
      node.remove();
      if (before?.isConnected) before.focus();
      resolve(result);
    };
    const { parts, submit } = build(end);
    const node = h(
      "dialog",
      { "aria-labelledby": id, "on:cancel": (event) => (event.preventDefault(), end()) },
      h("form", { "on:submit": (event) => (event.preventDefault(), submit()) }, h("h2", { id }, title), parts),
    );
    document.body.append(node);
    node.showModal();
  });
}

/** A labelled input → {node, input}. type: text, number, password, textarea, select (with options [[value, text]]). */
export function field({ name, label, value = "", hint = null, type = "text", options = [], ...more }) {
  const id = newId(name);
  const about = hint ? `${id}-hint` : null;
  const common = { id, name, "aria-describedby": about, autocomplete: "off", spellcheck: "false", ...more };
  let input;
  if (type === "textarea") input = h("textarea", { rows: "4", ...common, value });
  else if (type === "select") {
    input = h("select", { ...common, value }, options.map(([is, text]) => h("option", { value: is }, text)));
  } else input = h("input", { type, ...common, value });
  const node = h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    input,
    hint && h("p", { class: "hint", id: about }, hint),
  );
  return { node, input };
}

/**
 * A table; on a phone each row becomes a card.
 * columns: [{title, cell(row) → node or text, numeric, head (the row's name: a <th>), class, hide (title unseen)}].
 * options: {key(row), label, row(row) → attributes}. Put it into the page by `update` so that the focus stays.
 */
export function table(columns, rows, { key = null, label = null, row: attributes = null } = {}) {
  const kind = (one) => [one.numeric && "number", one.class].filter(Boolean).join(" ") || null;
  const cell = (one, row) => {
    const named = { class: kind(one), "dataset-label": one.hide ? null : one.title };
    return h(one.head ? "th" : "td", one.head ? { ...named, scope: "row" } : named, one.cell(row));
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label ?? "Table" },
    h(
      "table",
      { class: "cards" },
      h("thead", null, h("tr", null, columns.map((one) => h(
        "th",
        { scope: "col", class: kind(one) },
        one.hide ? h("span", { class: "unseen" }, one.title) : one.title,
      )))),
      h("tbody", null, rows.map((row) => h(
        "tr",
        { key: key ? `row ${key(row)}` : undefined, ...attributes?.(row) },
        columns.map((one) => cell(one, row)),
      ))),
    ),
  );
}

/** Nothing here, and what to do next: `commands` to type, or nodes. */
export function empty(title, text = null, ...commands) {
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "title" }, title),
    text && h("p", { class: "muted" }, text),
    commands.map((one) => (typeof one === "string" ? command(one) : one)),
  );
}

/** A command to type, with a button that copies it. */
export function command(text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      toast("The browser does not allow copying here: select it by hand.", "error");
    }
  };
  return h(
    "div",
    { class: "command" },
    h("code", { tabindex: "0" }, text),
    button("Copy", copy, { kind: "quiet", label: `Copy: ${text}` }),
  );
}

/** What went wrong, and how to go on; with a button where `retry` is given. */
export function failure(error, retry = null) {
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", { class: "title" }, error?.status === 0 ? "The server does not answer" : "This did not work"),
    h("p", null, inWords(error)),
    retry && button("Try again", retry),
  );
}

/** For `follow`: shows what failed in the place, unless something of use is there. */
export function failureIn(place, again) {
  return (error) => {
    if (error.status !== 401 && place.querySelector(".loading, .failure")) replace(place, failure(error, again));
  };
}

/** While something is fetched for the first time. */
export function loading() {
  return h("p", { class: "loading muted", role: "status" }, "Loading…");
}

/**
 * The button is busy until then. What fails is told by a toast, and the result is undefined.
 * `busy(button, send("POST", …), "Paused.")`: a third word is told when it worked.
 */
export async function busy(node, promise, done = null) {
  node?.setAttribute("aria-busy", "true");
  node?.setAttribute("aria-disabled", "true");
  try {
    const result = await promise;
    if (done) toast(done);
    return result;
  } catch (error) {
    toast(inWords(error), "error");
    return undefined;
  } finally {
    node?.removeAttribute("aria-busy");
    node?.removeAttribute("aria-disabled");
  }
}
