// The curves around an alarm, and the button that says that somebody has looked.
import { acknowledge } from "/assets/actions.js";
import { Card } from "/assets/channels.js";
import { find, linked } from "/assets/elements.js";

const { alarm: id, model } = find("page").dataset;

async function draw() {
  const answer = await fetch(linked(`/v1/alarms/${encodeURIComponent(id)}`, model));
  if (!answer.ok) return;
  const { alarm, curves, reference } = await answer.json();
  const series = curves.series[alarm.watched];
  const section = document.querySelector(".channel");
  // Labels raise alarms too, which have no curves.
  if (section) {
    new Card(section, alarm.watched).show(
      { ...series, watched: alarm.watched, reference, small_end: alarm.direction === "down", alarmed: false, since: alarm.since, log_evidence: alarm.log_evidence },
      { buckets: curves.buckets, steps: curves.steps, axis: "number", marks: [alarm], threshold: alarm.threshold },
    );
  }
  const button = find("acknowledge");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => acknowledge(alarm, () => location.reload()));
}

draw();
