/**
 * Shortcuts of single keys, which can be switched off, and the list of them.
 */

import { h } from "./dom.js";
import { PAGES } from "./routes.js";
import { dialog, newId } from "./ui.js";

const STORED = "queuectl-keys";
const CHORD_MS = 1500;

/** Where this sequence of keys goes: a hash, "filter", "help", "wait" (for a second key), or null. */
export function meaning(key, first) {
  if (first === "g") {
    const found = Object.entries(PAGES).find(([, page]) => page.key === key);
    return found ? `#/${found[0]}` : null;
  }
  return { g: "wait", n: "#/new", "/": "filter", "?": "help" }[key] ?? null;
}

function areOn() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function isTyping(target) {
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName) || document.querySelector("dialog[open]");
}

export function listenToKeys(go, isIn) {
  let first = null;
  let timer = null;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !isIn()) return;
    if (isTyping(event.target) || !areOn()) return;
    const found = meaning(event.key, first);
    clearTimeout(timer);
    first = null;
    if (found === "wait") {
      first = event.key;
      timer = setTimeout(() => (first = null), CHORD_MS);
    } else if (found === "filter") {
      const filter = document.querySelector("main [data-filter], main input[type=search], main input[type=text]");
      if (!filter) return;
      event.preventDefault();
      filter.focus();
    } else if (found === "help") help();
    else if (found) {
      event.preventDefault();
      go(found);
    }
  });
}

/** The list of shortcuts. */
export function help() {
  const id = newId("keys");
  const rows = [
    ...Object.values(PAGES).filter((page) => page.key).map((page) => [["g", page.key], page.title]),
    [["n"], "New job"],
    [["/"], "To the filter"],
    [["j"], "The next job of the list (k: the one before, x: choose, Enter: open)"],
    [["?"], "This list"],
  ];
  const keep = (event) => {
    try {
      localStorage.setItem(STORED, event.target.checked ? "on" : "off");
    } catch {
      // Without storage they stay on.
    }
  };
  dialog("Shortcuts", (end) => ({
    submit: end,
    parts: [
      h("dl", { class: "kv keys" }, rows.map(([keys, title]) => [
        h("dt", null, keys.map((key, i) => [i ? " then " : null, h("kbd", null, key)])),
        h("dd", null, title),
      ])),
      h("label", { class: "check", for: id }, h("input", { type: "checkbox", id, checked: areOn(), "on:change": keep }), "Shortcuts of single keys are on"),
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary", autofocus: true }, "Close")),
    ],
  }));
}
