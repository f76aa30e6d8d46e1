/**
 * Requests to the server that this page came from.
 */

const BASE = "/api/v1";
const MOST_MS = 30_000;

/** What the server did not do, and what to do about it. `status` 0: it did not answer. */
export class ApiError extends Error {
  constructor({ status, code, message, hint = null }) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

let unauthorized = () => {};

/** Who is to be told when the session is over. */
export function onUnauthorized(action) {
  unauthorized = action;
}

/** GET below /api/v1. `params`: lists become repeated parameters, null and "" are left out. */
export function get(path, params = null) {
  return request("GET", path + query(params));
}

/** POST, PUT, PATCH, DELETE. Gives the document, or null where there is none. `headers`: more of them. */
export function send(method, path, body = undefined, headers = {}) {
  return request(method, path, body, headers);
}

/** The address of something to download. */
export function address(path, params = null) {
  return BASE + path + query(params);
}

/** "?a=1&a=2", or "". */
export function query(params) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") found.append(name, String(one));
    }
  }
  const text = found.toString();
  return text && `?${text}`;
}

async function request(method, path, body, more = {}) {
  const headers = { Accept: "application/json", ...more };
  if (method !== "GET") {
    headers["X-Queuectl"] = "1";
    headers["Content-Type"] = "application/json";
  }
  let response, text;
  try {
    response = await fetch(BASE + path, {
      method,
      headers,
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(MOST_MS),
    });
    text = await response.text();
  } catch (error) {
    throw unreachable(error);
  }
  const document = parsed(text);
  if (response.ok) return document;
  const problem = new ApiError({
    status: response.status,
    code: document?.code ?? "error",
    message: document?.detail ?? document?.title ?? `the server answered ${response.status}`,
    hint: document?.hint ?? null,
  });
  if (response.status === 401 && path !== "/session") unauthorized(problem);
  throw problem;
}

/** As an error: nobody answers. */
export function unreachable(error) {
  const late = error?.name === "TimeoutError";
  return new ApiError({
    status: 0,
    code: late ? "too_slow" : "unreachable",
    message: late ? "the server took too long to answer" : "the server does not answer",
    hint: "is `queuectl dashboard` still running?",
  });
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
