/**
 * The frame of all pages: coming in, finding one's way, light and dark, whether the server is there.
 */

import { get, onUnauthorized, query as asQuery, send, unreachable } from "./api.js";
import { h, replace, update } from "./dom.js";
import { short } from "./format.js";
import { help, listenToKeys } from "./keys.js";
import { live } from "./live.js";
import { PAGES, codeOf, parse } from "./routes.js";
import { button, failure, field, heading, inWords, loading, newId, toast } from "./ui.js";

const MENU = ["overview", "jobs", "queues", "workers", "schedules", "dead", "settings"];
const root = document.getElementById("app");
let session = null;
let parts = null; // of the frame, while somebody is in
let leave = null; // what the open page wants done when it is left
let turn = 0; // which opening of a page is the latest
let quiet = true; // the first page does not take the focus
let trouble = null; // what the server cannot reach
let again = false; // the page could not be loaded: once more when the server is back

// --- coming in ---

async function start() {
  const code = codeOf(location.hash);
  if (code) {
    history.replaceState(null, "", "#/overview");
    try {
      await send("POST", "/session", { code });
    } catch (error) {
      // Whoever is in already may open the link twice.
      if (error.status !== 401) return showStartFailure(error);
    }
  }
  try {
    enter(await get("/session"));
  } catch (error) {
    if (error.status !== 401) return showStartFailure(error);
    showLogin(code ? "This link was used already, or is too old." : null);
  }
}

function enter(document_) {
  session = { ...document_, may: document_.scope === "admin" && !document_.read_only };
  document.body.classList.toggle("looking", !session.may);
  showFrame();
  live.start();
  // The other pages too, while the server is there: it may be away when they are wanted.
  open().then(() => Promise.allSettled(Object.values(PAGES).map((page) => page.load())));
}

function showStartFailure(error) {
  replace(root, h("main", { id: "main" }, heading("queuectl"), failure(error, start)));
}

function showLogin(reason = null) {
  close();
  live.stop();
  session = parts = null;
  document.title = "Log in · queuectl";
  const token = field({
    name: "token", label: "Token", type: "password", required: true,
    hint: "It is in the file dashboard.token in the queue's directory.",
  });
  const trouble = h("p", { class: "trouble", role: "alert" }, reason);
  const go = h("button", { class: "primary", type: "submit" }, "Log in");
  const submit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      enter(await send("POST", "/session", { token: token.input.value.trim() }));
    } catch (error) {
      replace(trouble, error.status === 401 ? "This token is not known here." : inWords(error));
      go.disabled = false;
      token.input.select();
    }
  };
  replace(root, h(
    "main",
    { class: "login", id: "main" },
    h(
      "div",
      { class: "panel" },
      h("div", { class: "brand" }, "queuectl"),
      h("h1", null, "Log in"),
      h("form", { "on:submit": submit }, token.node, trouble, go),
      h("p", { class: "muted small" }, "Show it: ", h("code", null, "cat ~/.queuectl/dashboard.token"),
        ". Or take the link that ", h("code", null, "queuectl dashboard"), " prints: it needs no token."),
    ),
  ));
  token.input.focus();
}

async function logOut() {
  try {
    await send("DELETE", "/session");
    showLogin();
  } catch (error) {
    toast(inWords(error), "error");
  }
}

// --- the frame ---

function showFrame() {
  const fold = h("div", { class: "fold", id: "fold" });
  const lamp = h("span", { class: "lamp", role: "status" });
  const menu = button("Menu", () => unfold(!side.classList.contains("unfolded")), {
    class: "menu", "aria-expanded": "false", "aria-controls": "fold",
  });
  const side = h(
    "header",
    { class: "side" },
    h("div", { class: "top" }, h("a", { class: "brand", href: "#/overview" }, "queuectl"), lamp, menu),
    fold,
  );
  const nav = h("nav", { "aria-label": "Main" });
  replace(fold, nav, foot());
  const main = h("main", { id: "main", tabindex: "-1" });
  const banner = h("div", { class: "banner", role: "alert", hidden: true });
  parts = { side, menu, nav, lamp, main, banner };
  replace(root, banner, h("div", { class: "frame" }, side, main));
  showLamp();
  showMenu();
}

function foot() {
  const id = newId("theme");
  const choice = h(
    "select",
    { id, value: document.documentElement.dataset.theme ?? "system", "on:change": () => setTheme(choice.value) },
    [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]].map(([value, text]) => h("option", { value }, text)),
  );
  return h(
    "div",
    { class: "foot" },
    h("a", { class: "button primary act", href: "#/new" }, "New job"),
    session.may ? null : h("span", { class: "chip" }, "Read only"),
    h("label", { class: "unseen", for: id }, "Colours"),
    choice,
    h("div", { class: "buttons" }, button("Shortcuts", help, { kind: "quiet" }), button("Log out", logOut, { kind: "quiet" })),
    h("span", { class: "store", title: `The store (${session.engine})` }, `${session.store} · ${session.version}`),
  );
}

function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("queuectl-theme", name);
  } catch {
    // For this visit, then.
  }
}

function unfold(open) {
  parts.side.classList.toggle("unfolded", open);
  parts.menu.setAttribute("aria-expanded", String(open));
}

function showMenu() {
  if (!parts) return;
  const here = parse(location.hash).name;
  const stats = live.stats;
  const tally = (n, unit, bad = false) =>
    n ? h("span", { class: `tally${bad ? " bad" : ""}` }, short(n), h("span", { class: "unseen" }, ` ${unit}`)) : null;
  const tallies = stats && {
    jobs: tally(stats.jobs.pending + stats.jobs.processing, "waiting or running"),
    workers: tally(stats.workers, "running"),
    dead: tally(stats.jobs.dead, "dead", true),
  };
  update(parts.nav, h("ul", null, MENU.map((name) => h(
    "li",
    null,
    h(
      "a",
      { href: `#/${name}`, "aria-current": name === here || (name === "jobs" && here === "job") ? "page" : null },
      PAGES[name].title,
      tallies?.[name],
    ),
  ))));
}

function isGone() {
  return live.state === "waiting" && (live.nextTry !== null || live.tries > 0);
}

function showLamp() {
  if (!parts) return;
  const gone = isGone();
  parts.lamp.dataset.state = live.state;
  const word = { open: "Live", waiting: gone ? "Offline" : "…", hidden: "Paused" }[live.state];
  if (parts.lamp.textContent !== word) parts.lamp.textContent = word;
  parts.banner.hidden = !gone && !trouble;
  if (gone) {
    update(parts.banner, h("strong", null, "The server does not answer."),
      h("span", null, "What you see may be old. Is ", h("code", null, "queuectl dashboard"), " still running? Trying again by itself."),
      button("Try now", () => live.retry()));
  } else if (trouble) {
    update(parts.banner, h("strong", null, "The store does not answer."), h("span", null, inWords(trouble)));
  }
}

// A stream that breaks does not say why: perhaps the session is over.
async function checkSession() {
  if (!isGone() || live.nextTry === null || !session) return;
  try {
    await get("/session");
  } catch (error) {
    if (error.status === 401 && session) showLogin("Your session is over.");
  }
}

// --- pages ---

function close() {
  turn += 1;
  try {
    leave?.();
  } catch (error) {
    console.error(error);
  }
  leave = null;
}

async function open() {
  if (!session) return;
  close();
  live.look({});
  unfold(false);
  showMenu();
  const mine = turn;
  const { name, params, query } = parse(location.hash);
  const main = h("main", { id: "main", tabindex: "-1" }, loading());
  parts.main.replaceWith(main);
  parts.main = main;
  if (name === null) return show(main, "Not found", () => replace(main, heading("Not found"), notFound()));
  const { title, load } = PAGES[name];
  again = false;
  try {
    const page = await load().then((module) => module.default, () => Promise.reject(unreachable()));
    if (mine !== turn) return;
    const context = { main, params, query, session, go, setQuery: (values) => setQuery(mine, values) };
    await show(main, page.title ?? title, async () => {
      replace(main);
      const done = await page.open(context);
      if (mine === turn) leave = done ?? null;
      else done?.();
    });
  } catch (error) {
    if (error.status === 0) again = mine === turn;
    else console.error(error);
    if (mine === turn) await show(main, title, () => replace(main, heading(title), failure(error, open)));
  }
}

async function show(main, title, fill) {
  document.title = `${title} · queuectl`;
  const filled = fill();
  const focus = () => {
    if (!main.querySelector("h1")) main.prepend(heading(title));
    if (!quiet) main.querySelector("h1").focus({ preventScroll: true });
    quiet = false;
    window.scrollTo(0, 0);
  };
  // Most pages draw their heading at once and the rest when it has come.
  if (main.querySelector("h1")) focus();
  else await Promise.resolve(filled).then(focus);
  return filled;
}

function notFound() {
  return h("p", null, "There is no such page. ", h("a", { href: "#/overview" }, "To the overview"));
}

function go(hash) {
  if (location.hash === hash) open();
  else location.hash = hash;
}

/** The address tells what is shown, without a new page. */
function setQuery(mine, values) {
  if (mine !== turn) return;
  const path = location.hash.split("?")[0] || "#/overview";
  history.replaceState(null, "", path + asQuery(values));
}

// --- everything together ---

onUnauthorized(() => session && showLogin("Your session is over."));
addEventListener("hashchange", () => (codeOf(location.hash) ? start() : open()));
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  toast(inWords(event.reason), "error");
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
live.on("state", () => {
  showLamp();
  checkSession();
});
live.on("stats", () => {
  trouble = null;
  showLamp();
  showMenu();
});
live.on("reset", () => again && open());
live.on("trouble", (problem) => {
  trouble = { message: problem.detail };
  showLamp();
});
listenToKeys(go, () => session);
start();
