// Two charts of one kind: a curve over event numbers, with a band or a line, and marks.
const SVG = "http://www.w3.org/2000/svg";
const LEFT = 52, RIGHT = 10, TOP = 10, BOTTOM = 24;

export function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function niceStep(span, count) {
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((step) => step * power >= rough) ?? 10);
}

function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const step = niceStep(high - low, count), found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(tick);
  return found;
}

export class Chart {
  constructor(host, reading, describe) {
    Object.assign(this, { host, reading, describe, rows: [], place: null });
    new ResizeObserver(() => this.draw()).observe(host);
    host.addEventListener("keydown", (event) => this.key(event));
    host.addEventListener("pointermove", (event) => this.point(event));
    host.addEventListener("pointerleave", () => this.look(null));
    host.addEventListener("blur", () => this.look(null));
  }

  // rows: {x, y, low?, high?}; line: a level or null; marks: event numbers.
  show(rows, { line = null, marks = [] } = {}) {
    Object.assign(this, { rows: rows.filter((row) => row.y !== null), line, marks });
    if (this.place !== null) this.place = Math.min(this.place, this.rows.length - 1);
    this.draw();
  }

  key(event) {
    const last = this.rows.length - 1;
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return this.look(null);
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    this.look(Math.max(0, Math.min(last, (this.place ?? last + 1) + moves[event.key])));
  }

  point(event) {
    if (!this.rows.length || !this.across) return;
    const at = event.clientX - this.host.getBoundingClientRect().left;
    let best = 0;
    this.rows.forEach((row, place) => {
      if (Math.abs(this.across(row.x) - at) < Math.abs(this.across(this.rows[best].x) - at)) best = place;
    });
    this.look(best);
  }

  look(place) {
    this.place = place;
    this.reading.textContent = place === null ? "" : this.describe(this.rows[place]);
    this.draw();
  }

  scales(width, height) {
    const xs = this.rows.map((row) => row.x);
    const tops = this.rows.flatMap((row) => [row.y, row.high ?? row.y]);
    const low = Math.min(...xs), span = Math.max(...xs) - low || 1;
    const top = Math.max(...tops, this.line === null ? 0 : this.line * 1.08) * 1.06 || 1;
    this.across = (x) => LEFT + ((x - low) / span) * (width - LEFT - RIGHT);
    this.up = (y) => height - BOTTOM - (Math.max(y, 0) / top) * (height - TOP - BOTTOM);
    return { low, high: low + span, top };
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width) return;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    if (this.rows.length > 1) this.fill(svg, width, height);
    else element("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, svg).textContent = "Waiting for points …";
    this.host.replaceChildren(svg);
  }

  fill(svg, width, height) {
    const { low, high, top } = this.scales(width, height);
    for (const y of ticks(0, top, 4)) {
      element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.up(y), y2: this.up(y) }, svg);
      element("text", { x: LEFT - 8, y: this.up(y) + 4, "text-anchor": "end" }, svg).textContent = short(Number(y.toPrecision(12)));
    }
    for (const x of ticks(low, high, width < 500 ? 3 : 6)) {
      const anchor = this.across(x) > width - 60 ? "end" : "middle";
      element("text", { x: this.across(x), y: height - 6, "text-anchor": anchor }, svg).textContent = short(x);
    }
    if (this.rows[0].high !== undefined) {
      const edge = (name) => this.rows.map((row) => `${this.across(row.x)},${this.up(row[name])}`);
      element("polygon", { class: "band", points: [...edge("high"), ...edge("low").reverse()].join(" ") }, svg);
    }
    if (this.line !== null) element("line", { class: "line", x1: LEFT, x2: width - RIGHT, y1: this.up(this.line), y2: this.up(this.line) }, svg);
    for (const mark of this.marks.filter((each) => each >= low && each <= high)) {
      element("line", { class: "mark", x1: this.across(mark), x2: this.across(mark), y1: TOP, y2: height - BOTTOM }, svg);
    }
    element("polyline", { class: "curve", points: this.rows.map((row) => `${this.across(row.x)},${this.up(row.y)}`).join(" ") }, svg);
    if (this.place === null || !this.rows[this.place]) return;
    const { x, y } = this.rows[this.place];
    element("line", { class: "cursor", x1: this.across(x), x2: this.across(x), y1: TOP, y2: height - BOTTOM }, svg);
    element("circle", { class: "dot", cx: this.across(x), cy: this.up(y), r: 4 }, svg);
  }
}
