/**
 * Which page a hash means. Nothing here knows the page.
 */

export const PAGES = {
  overview: { title: "Overview", key: "o", load: () => import("./page_overview.js") },
  jobs: { title: "Jobs", key: "j", load: () => import("./page_jobs.js") },
  queues: { title: "Queues", key: "q", load: () => import("./page_queues.js") },
  workers: { title: "Workers", key: "w", load: () => import("./page_workers.js") },
  schedules: { title: "Schedules", key: "s", load: () => import("./page_schedules.js") },
  dead: { title: "Dead letters", key: "d", load: () => import("./page_dead.js") },
  settings: { title: "Settings", key: "e", load: () => import("./page_settings.js") },
  new: { title: "New job", load: () => import("./page_new.js") },
  job: { title: "Job", load: () => import("./page_job.js") },
};

/** {name, params, query}; name null: there is no such page. */
export function parse(hash) {
  const [path, ...rest] = hash.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(rest.join("?"));
  const parts = path.split("/").filter(Boolean).map(decoded);
  if (parts.length === 0) return { name: "overview", params: {}, query };
  if (parts[0] === "jobs" && parts.length === 2) return { name: "job", params: { id: parts[1] }, query };
  const known = parts.length === 1 && parts[0] !== "job" && Object.hasOwn(PAGES, parts[0]);
  return { name: known ? parts[0] : null, params: {}, query };
}

/** The one-time code of a link, or null. */
export function codeOf(hash) {
  return /^#code=([^&]+)/.exec(hash)?.[1] ?? null;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
