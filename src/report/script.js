// SPDX-License-Identifier: MIT
// Adds to the page what needs a hand: the desk, legends, sorting, copying, the theme. Texts of users only ever become text nodes.
(function () {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);

  // ---- numbers as the page writes them

  const percent = (x) => (100 * x).toFixed(2) + "\u00a0%";
  const count = (n) => (n < 10000 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
  const className = (k) => (k < data.classes.length ? data.classes[k] : String(k));

  // ---- what lies in the page

  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

  function reader(bytes, at) {
    return () => {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
      return value;
    };
  }

  // Cuts by rising coverage: threshold, points and errors accepted.
  function unpack(series) {
    if (series.cut) return series;
    const bytes = bytesOf(series.cuts), view = new DataView(bytes.buffer), next = reader(bytes, 8 * series.count);
    series.cut = [];
    series.accepted = [];
    series.errorsAt = [];
    let accepted = 0, errors = 0;
    for (let i = 0; i < series.count; i++) {
      series.cut.push(view.getFloat64(8 * i, true));
      series.accepted.push(accepted += next());
      series.errorsAt.push(errors += next());
    }
    const pairs = bytesOf(series.confusions), read = reader(pairs, 0);
    series.confused = [];
    for (let p = 0; p < series.pairs; p++) {
      const pair = { truth: read(), label: read(), runs: [] };
      let cut = 0;
      for (let runs = read(); runs > 0; runs--) pair.runs.push([cut += read(), read()]);
      series.confused.push(pair);
    }
    return series;
  }

  // ---- the desk

  const desk = { method: null, series: null, at: 0 };

  function atCoverage(series, n, coverage) { // the smallest attainable coverage that is not below
    let i = 0;
    while (i + 1 < series.count && series.accepted[i] / n < coverage) i++;
    return i;
  }

  function atRisk(series, risk) { // the largest coverage within the risk, -1 if there is none
    let i = series.count - 1;
    while (i >= 0 && series.errorsAt[i] / series.accepted[i] > risk) i--;
    return i;
  }

  function element(name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }

  function svgElement(name, attributes) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    return e;
  }

  function showConfusions(series, at) {
    const rows = [];
    for (const pair of series.confused) {
      let kept = 0;
      for (const [cut, errors] of pair.runs) if (cut <= at) kept += errors;
      if (kept) rows.push([kept, pair.truth, pair.label]);
    }
    rows.sort((a, b) => b[0] - a[0] || a[1] - b[1] || a[2] - b[2]);
    const body = $("desk-pairs").tBodies[0];
    body.replaceChildren(...rows.slice(0, 20).map(([kept, truth, label]) => {
      const row = element("tr");
      for (const k of [truth, label]) {
        const cell = element("td", "", className(k));
        cell.title = className(k);
        row.append(cell);
      }
      row.append(element("td", "n", String(kept)));
      return row;
    }));
    $("desk-pairs-note").textContent = rows.length === 0 ? "No error is left." :
      series.all ? "" : `Among the ${series.pairs} most frequent confusions.`;
  }

  function point(item, handed) {
    const [row, truth, label, thumb, top] = item;
    const li = element("li", handed ? "point handed" : "point");
    li.dataset.row = row;
    if (thumb >= 0) {
      const svg = svgElement("svg", { class: "thumb", viewBox: `0 0 ${data.thumb[0]} ${data.thumb[1]}`, "aria-hidden": "true" });
      svg.append(svgElement("use", { href: "#t" + thumb }));
      li.append(svg);
    }
    const text = element("div"), classes = [];
    for (let i = 0; i < top.length; i += 2) classes.push(`${className(top[i])} ${(100 * top[i + 1]).toFixed(1)}\u202f%`);
    text.append(element("b", "", className(label)), element("span", "", "truth " + className(truth)),
      element("span", "top", classes.join(" \u00b7 ")), element("span", "row", "row " + row));
    text.title = classes.join(" \u00b7 ");
    li.append(text);
    return li;
  }

  function showGalleries() {
    for (const [id, key] of [["desk-errors", "errors"], ["desk-rejected", "rejected"]])
      $(id).replaceChildren(...desk.series[key].map(([item, cut]) => point(desk.method.items[item], cut > desk.at)));
  }

  function drawLine() {
    const figure = $("fig-desk"), [left, top, right, bottom] = figure.dataset.box.split(" ").map(Number), most = Number(figure.dataset.top);
    const x = (i) => left + (desk.series.accepted[i] / desk.method.n) * (right - left);
    const y = (i) => bottom - (Math.min(desk.series.errorsAt[i] / desk.series.accepted[i], most) / most) * (bottom - top);
    let path = "";
    for (let i = 0; i < desk.series.count; i++) path += (i ? "L" : "M") + x(i).toFixed(1) + " " + y(i).toFixed(1);
    $("desk-line").replaceChildren(svgElement("path", { class: "s", d: path }));
    desk.mark = () => $("desk-mark").replaceChildren(
      svgElement("path", { class: "mark", d: `M${x(desk.at)} ${top}V${bottom}` }),
      svgElement("circle", { class: "dot", cx: x(desk.at), cy: y(desk.at), r: 5 }));
  }

  function show() {
    const s = desk.series, n = desk.method.n, accepted = s.accepted[desk.at], errors = s.errorsAt[desk.at], all = s.errorsAt[s.count - 1];
    $("desk-answered").textContent = percent(accepted / n);
    $("desk-error").textContent = percent(errors / accepted);
    $("desk-accuracy").textContent = percent(1 - errors / accepted);
    $("desk-handed").textContent = count(n - accepted);
    $("desk-avoided").textContent = `${count(all - errors)} of ${count(all)}`;
    $("desk-kept").textContent = count(errors);
    $("desk-name").textContent = s.by;
    $("desk-threshold").textContent = String(s.cut[desk.at]);
    $("desk-coverage").setAttribute("aria-valuetext", `${percent(accepted / n)} answered, ${percent(errors / accepted)} of them wrong`);
    desk.mark();
    showConfusions(s, desk.at);
    showGalleries();
  }

  function slide() {
    desk.at = atCoverage(desk.series, desk.method.n, Number($("desk-coverage").value) / 1000);
    $("desk-risk").value = "";
    $("desk-note").textContent = "";
    show();
  }

  function aim() {
    const text = $("desk-risk").value, risk = Number(text) / 100;
    if (text === "" || !(risk >= 0 && risk <= 1)) return;
    const at = atRisk(desk.series, risk);
    $("desk-note").textContent = at < 0 ? "No cut reaches this risk: the surest points are wrong too often." : "";
    if (at < 0) return;
    desk.at = at;
    $("desk-coverage").value = Math.floor(1000 * desk.series.accepted[at] / desk.method.n + 1e-9);
    show();
  }

  function choose(keepBy) {
    const select = $("desk-by"), wanted = keepBy ? select.value : null;
    desk.method = data.methods[Number($("desk-method").value)];
    select.replaceChildren(...desk.method.series.map((s) => {
      const option = element("option", "", s.by);
      option.value = s.c;
      return option;
    }));
    if (desk.method.series.some((s) => String(s.c) === wanted)) select.value = wanted;
    desk.series = unpack(desk.method.series[select.selectedIndex]);
    drawLine();
    if ($("desk-risk").value !== "") aim();
    else slide();
  }

  if ($("desk")) {
    const start = $("desk-coverage").value;
    choose(true);
    $("desk-coverage").value = start;
    slide();
    $("desk-method").addEventListener("change", () => choose(true));
    $("desk-by").addEventListener("change", () => choose(true));
    $("desk-coverage").addEventListener("input", slide);
    $("desk-risk").addEventListener("input", aim);
  }

  // ---- legends

  for (const key of document.querySelectorAll("button.key"))
    key.addEventListener("click", () => {
      const on = key.getAttribute("aria-pressed") !== "true";
      key.setAttribute("aria-pressed", String(on));
      key.closest(".fig").classList.toggle("off-" + key.dataset.toggle, !on);
    });

  // ---- tables

  const value = (cell) => (cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent);

  for (const table of document.querySelectorAll("table.sortable"))
    [...table.tHead.rows[0].cells].forEach((head, column) =>
      head.firstElementChild.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending", number = head.classList.contains("n");
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [value(row.cells[column]), row]);
        const missing = (x) => x === "";
        rows.sort(([a], [b]) => missing(a) - missing(b) || (rising ? 1 : -1) * (number ? a - b : a.localeCompare(b)));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      }));

  const quote = (x) => (/[",\r\n]/.test(x) ? '"' + x.replace(/"/g, '""') + '"' : x);

  function tableCsv(table) {
    const head = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(value));
    return [head, ...rows].map((row) => row.map(quote).join(",")).join("\n") + "\n";
  }

  function cutsCsv() {
    let text = "method,confidence,threshold,coverage,risk,accepted,errors\n";
    for (const method of data.methods)
      for (const series of method.series) {
        unpack(series);
        for (let i = 0; i < series.count; i++)
          text += [quote(method.name), series.by, series.cut[i], series.accepted[i] / method.n, series.errorsAt[i] / series.accepted[i],
            series.accepted[i], series.errorsAt[i]].join(",") + "\n";
      }
    return text;
  }

  // The clipboard is not open to every page that comes from a file; the old way is.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (refused) {
      const area = element("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  for (const button of document.querySelectorAll("button.copy"))
    button.addEventListener("click", async () => {
      const text = button.dataset.copy ? $(button.dataset.copy).textContent :
        button.dataset.cuts ? cutsCsv() : button.dataset.csv ? button.closest("figure").querySelector("pre.csv").textContent : tableCsv(button.closest(".table").querySelector("table"));
      button.dataset.text = text;
      const name = button.textContent;
      await copy(text);
      button.textContent = "Copied";
      button.focus();
      setTimeout(() => { button.textContent = name; }, 1200);
    });

  // ---- the pointer on the risk-coverage curves

  const chart = $("svg-risk-coverage"), hint = $("risk-coverage-hint");
  if (chart)
    chart.addEventListener("pointermove", (event) => {
      const series = event.target.closest("path.s[class*=c]");
      const match = series && /\bm(\d+)\b.*\bc(\d)\b/.exec(series.getAttribute("class"));
      if (!match) return;
      const method = data.methods[Number(match[1])], s = unpack(method.series.find((one) => one.c === Number(match[2])));
      const place = chart.createSVGPoint();
      place.x = event.clientX;
      place.y = event.clientY;
      const at = atCoverage(s, method.n, Math.min(1, Math.max(0, (place.matrixTransform(chart.getScreenCTM().inverse()).x - 56) / 680)));
      hint.textContent = `${method.name}, ${s.by} \u2265 ${s.cut[at]}: coverage ${percent(s.accepted[at] / method.n)}, risk ${percent(s.errorsAt[at] / s.accepted[at])}`;
    });

  // ---- the theme

  const theme = $("theme"), darkNow = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const tell = () => {
    theme.textContent = darkNow() ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(darkNow()));
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = darkNow() ? "light" : "dark";
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
})();
