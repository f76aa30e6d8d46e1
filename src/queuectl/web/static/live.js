/**
 * The page's one stream of events from the server, which it opens again when it breaks.
 *
 * Events: those of the server (`stats`, `changed`, `job`, `output`, `reset`, `trouble`), and `state`. Whenever the
 * stream was cut and is open again, `reset` comes before anything else: fetch everything anew. Output then goes on
 * where it was if an attempt was named in `look`; if not, it comes from its start again.
 */

import { query } from "./api.js";

const EVENTS = ["stats", "changed", "job", "output", "reset", "trouble"];
const FIRST_MS = 500;
const MOST_MS = 15_000;

/** How long to wait before the nth try: grows, and differs from page to page. */
export function pause(tries, random = Math.random()) {
  return Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries, 10)) * (0.75 + random / 2);
}

class Live {
  /** 'open', 'waiting' (to be connected) or 'hidden'. */
  state = "hidden";
  /** When it is tried again, ms; null: now, or not at all. */
  nextTry = null;
  /** How often it was tried in vain, since it was open last. */
  tries = 0;
  /** The latest `stats`, for who comes later. */
  stats = null;
  #heard = new Map();
  #about = {};
  #source = null;
  #timer = null;
  #lost = false;
  #wanted = false;

  /** Calls `action(data)` at every such event; gives the function that ends this. */
  on(event, action) {
    const all = this.#heard.get(event) ?? new Set();
    this.#heard.set(event, all.add(action));
    return () => all.delete(action);
  }

  /** What the stream is about: {job, attempt, after, queue}. {} for nothing special. */
  look(about = {}) {
    const before = query(this.#about);
    this.#about = { ...about };
    if (query(about) === before || !this.#wanted || document.hidden) return;
    this.#connect();
  }

  start() {
    if (this.#wanted) return;
    this.#wanted = true;
    document.addEventListener("visibilitychange", this.#seen);
    this.#seen();
  }

  stop() {
    this.#wanted = false;
    document.removeEventListener("visibilitychange", this.#seen);
    this.#close();
    this.#change("hidden");
  }

  /** Now, not after the pause. */
  retry() {
    if (this.#wanted && this.state !== "open") this.#connect();
  }

  #seen = () => {
    if (!document.hidden) return void this.#connect();
    this.#lost = true;
    this.#close();
    this.#change("hidden");
  };

  #connect() {
    this.#close();
    this.nextTry = null;
    if (this.state !== "open") this.#change("waiting");
    const source = new EventSource(`/api/v1/stream${query(this.#about)}`);
    this.#source = source;
    source.onopen = () => {
      const lost = this.#lost;
      this.#lost = false;
      this.tries = 0;
      this.#change("open");
      if (lost) this.#tell("reset", {});
    };
    source.onerror = () => this.#broken();
    for (const event of EVENTS) source.addEventListener(event, (message) => this.#take(event, message));
  }

  #take(event, message) {
    const data = JSON.parse(message.data);
    if (event === "stats") this.stats = data;
    if (event === "output" && this.#about.attempt) this.#about.after = data.next;
    this.#tell(event, data);
  }

  // A browser would try again by itself, forever at the same pace.
  #broken() {
    this.#close();
    this.#lost = true;
    const ms = pause(this.tries++);
    this.nextTry = Date.now() + ms;
    this.#timer = setTimeout(() => this.#connect(), ms);
    this.#change("waiting");
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #change(state) {
    this.state = state;
    this.#tell("state", state);
  }

  #tell(event, data) {
    for (const action of [...(this.#heard.get(event) ?? [])]) {
      try {
        action(data);
      } catch (error) {
        console.error(error);
      }
    }
  }
}

export const live = new Live();

/**
 * Calls `load()` now and whenever something was written; never two at once. What fails goes to `failed(error)`.
 * `every`: ms after which it is called in any case, for what changes by itself, as ages do.
 * Gives {again, stop}: `again()` calls it now, as after an action of one's own.
 */
export function follow(load, failed = () => {}, { every = 0 } = {}) {
  let running = false;
  let due = false;
  let ended = false;
  async function again() {
    if (running) return void (due = true);
    running = true;
    do {
      due = false;
      try {
        await load();
      } catch (error) {
        if (!ended) failed(error);
      }
    } while (due && !ended);
    running = false;
  }
  const offs = [live.on("changed", again), live.on("reset", again)];
  const timer = every && setInterval(() => live.state === "open" && again(), every);
  again();
  return {
    again,
    stop() {
      ended = true;
      clearInterval(timer);
      offs.forEach((off) => off());
    },
  };
}
