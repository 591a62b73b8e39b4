// Acknowledge and reset: JSON to this host, with the token that may write, which is kept nowhere.
import { find } from "/assets/elements.js";

const dialog = find("dialog");
let token = "", sender = "", send = null;

async function post(path, body) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  // Without the browser's own login: that is the reader's, and must not be enough.
  const answer = await fetch(path, { method: "POST", mode: "same-origin", credentials: "omit", headers, body: JSON.stringify(body) });
  if (answer.ok) return;
  if (answer.status === 401) throw new Error("This needs the ingest token; the one you read with is not enough.");
  let detail = "";
  try {
    ({ detail } = await answer.json());
  } catch {
    detail = `status ${answer.status}`;
  }
  throw new Error(`It was not taken: ${detail}`);
}

function ask({ title, about, button, signed, then }) {
  find("dialog-title").textContent = title;
  find("dialog-about").textContent = about;
  find("dialog-send").textContent = button;
  find("dialog-problem").textContent = "";
  find("dialog-signed").hidden = !signed;
  find("dialog-by").required = signed;
  find("dialog-by").value = sender;
  find("dialog-note").value = "";
  send = then;
  dialog.showModal();
}

export function acknowledge(alarm, done) {
  ask({
    title: `Acknowledge: ${alarm.watched} ${alarm.change}${alarm.segment === null ? "" : ` in ${alarm.segment}`}`,
    about: "Says that somebody has looked. The alarm stands until it is reset.",
    button: "Acknowledge", signed: true,
    then: async () => {
      await post(`/v1/alarms/${encodeURIComponent(alarm.id)}/acknowledge`, { by: sender, note: find("dialog-note").value });
      done();
    },
  });
}

export function reset(done) {
  ask({
    title: "Reset all alarms",
    about: "Clears alarms and evidence of everything that is watched, and watches on. What was observed, and the list of alarms, stays.",
    button: "Reset", signed: false,
    then: async () => {
      await post("/v1/reset", {});
      done();
    },
  });
}

if (dialog) {
  find("dialog-cancel").addEventListener("click", () => dialog.close());
  find("dialog-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    sender = find("dialog-by").value.trim();
    token = find("dialog-token")?.value.trim() ?? "";
    find("dialog-send").disabled = true;
    try {
      await send();
      dialog.close();
    } catch (problem) {
      find("dialog-problem").textContent = problem.message;
    } finally {
      find("dialog-send").disabled = false;
    }
  });
}
