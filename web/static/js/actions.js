// Buttons that change a job. data-method, data-path and data-body are the request, data-confirm is asked before it.

import { call, make } from "./api.js";

/** Ask in a dialog; true when the answer is yes. */
function confirmed(question, yes) {
  const dialog = make("dialog", {}, make("p", {}, question));
  const form = make("form", { method: "dialog" });
  form.append(make("button", { value: "no" }, "Keep it"), make("button", { value: "yes", className: "main" }, yes));
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

async function act(button, done, say) {
  if (button.dataset.confirm && !(await confirmed(button.dataset.confirm, button.textContent))) return;
  button.disabled = true;
  try {
    const { left = [] } = await call(button.dataset.method ?? "POST", button.dataset.path, button.dataset.body && JSON.parse(button.dataset.body));
    say(left.join("; ")); // files that were not deleted
    if (!button.dataset.then) await done();
    else if (!left.length) location.assign(button.dataset.then);
  } catch (error) {
    say(error.message);
    button.disabled = false;
  }
}

/** Activate every such button under `root`; `done` is called after each success. */
export function wireActions(root, done) {
  const notice = root.querySelector("[data-notice]");
  const say = (line) => {
    notice.textContent = line;
    notice.hidden = !line;
  };
  for (const button of root.querySelectorAll("button[data-path]")) {
    button.addEventListener("click", () => act(button, done, say));
  }
}

/** Show the buttons of actions that are allowed now; data-allowed names the action. */
export function allowActions(root, allowed) {
  for (const button of root.querySelectorAll("button[data-allowed]")) {
    const may = allowed.includes(button.dataset.allowed);
    button.hidden = !may;
    button.disabled = !may;
  }
}
