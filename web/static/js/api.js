// Requests to the API. Errors have one line, and messages for fields.

export const API = "/api/v1";

export class ApiError extends Error {
  constructor(status, message, fields) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/** JSON of a GET, or of another method with a JSON body; throws ApiError. */
export async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(API + path, {
      method,
      headers: { Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "the server does not answer", {});
  }
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, data.error ?? `the server answered ${answer.status}`, data.errors ?? {});
  return data;
}

/** An element with properties and children, so that no text is ever taken for markup. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}
