// Requests to the driver. Reads need the session's cookie, which the browser sends; orders also a token against CSRF.

// The window hears "stranger" when the driver knows this browser no more: the session has ended, or another driver has the port.

let csrf = null;

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...options });
  } catch {
    throw new ApiError(0, "The driver does not answer: it has ended, or the network is down.");
  }
  if (answer.ok && answer.headers.get("Content-Type").startsWith("text/event-stream")) return answer.body.cancel(); // it has no end
  const body = await answer.json().catch(() => null);
  if (answer.ok) return body;
  if (answer.status === 401) dispatchEvent(new Event("stranger"));
  throw new ApiError(answer.status, body?.errors?.join("; ") ?? `${path} answered ${answer.status}`);
}

/** Return the JSON at a path. Throws ApiError. */
export const get = (path) => ask(path);

/** Send an order; return its JSON answer. Throws ApiError. */
export const order = (method, path, body = {}) =>
  ask(path, {
    method,
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf ?? "" },
    body: JSON.stringify(body),
  });

/** Return what this browser may do: { rights: "read" | "act", version }. Throws ApiError 401 without a session. */
export async function session() {
  const found = await get("/session");
  csrf = found.csrf;
  return found;
}

/** Wait for an order that takes a while, asked about at `path`; return its operation. Throws ApiError if it failed. */
export async function outcome(path, everyMs = 200) {
  for (;;) {
    const { status, operation } = await get(path);
    if (status.id === "COMPLETED") {
      const failure = operation?.["failure-cause"];
      if (failure) throw new ApiError(500, failure["stack-trace"]);
      return operation;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
