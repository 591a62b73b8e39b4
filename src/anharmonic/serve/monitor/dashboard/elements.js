// What every page is made of: elements, numbers, moments, tables.
export const find = (id) => document.getElementById(id);

export function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

export function clock(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const moment = new Date(seconds * 1000);
  return Number.isNaN(moment.getTime()) ? "–" : `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function made(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// columns: {name, value(row) → text or element, number?}
export function table(host, columns, rows, empty) {
  if (!rows.length) return host.replaceChildren(made("p", empty, "empty"));
  const whole = made("table", undefined, "stacked"), head = made("thead"), body = made("tbody"), titles = made("tr");
  for (const { name, number } of columns) titles.append(made("th", name, number ? "number" : ""));
  head.append(titles);
  for (const row of rows) {
    const line = made("tr");
    for (const { name, value, number } of columns) {
      const content = value(row), cell = made("td", undefined, number ? "number" : "");
      cell.append(content);
      cell.dataset.label = name;
      line.append(cell);
    }
    body.append(line);
  }
  whole.append(head, body);
  host.replaceChildren(whole);
}

// A link to a page about a model of another process carries its name.
export function linked(path, model) {
  return model ? `${path}?model=${encodeURIComponent(model)}` : path;
}

export function link(text, href) {
  const element = made("a", text);
  element.href = href;
  return element;
}
