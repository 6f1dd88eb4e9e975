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

  // The cut that the certificate gives this series, -1 if it gives none, or one that answers nothing.
  function certifiedAt() {
    const c = data.certificate;
    if (!c || c.cut === null || desk.method !== data.methods[0] || desk.series.c !== c.c) return -1;
    let i = -1;
    while (i + 1 < desk.series.count && desk.series.cut[i + 1] >= c.cut) i++;
    return i;
  }

  function drawLine() {
    const figure = $("fig-desk"), [left, top, right, bottom] = figure.dataset.box.split(" ").map(Number), most = Number(figure.dataset.top);
    const x = (i) => left + (desk.series.accepted[i] / desk.method.n) * (right - left);
    const y = (i) => bottom - (Math.min(desk.series.errorsAt[i] / desk.series.accepted[i], most) / most) * (bottom - top);
    let path = "";
    for (let i = 0; i < desk.series.count; i++) path += (i ? "L" : "M") + x(i).toFixed(1) + " " + y(i).toFixed(1);
    $("desk-line").replaceChildren(svgElement("path", { class: "s", d: path }));
    const promised = certifiedAt();
    desk.mark = () => $("desk-mark").replaceChildren(
      ...(promised < 0 ? [] : [svgElement("path", { class: "certified-mark", d: `M${x(promised)} ${top}V${bottom}` })]),
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

  const costs = [$("desk-cost-wrong"), $("desk-cost-handed")];

  function put(at) { // a cut, with the slider below it
    desk.at = at;
    $("desk-coverage").value = Math.floor(1000 * desk.series.accepted[at] / desk.method.n + 1e-9);
    show();
  }

  function price() {
    const [wrong, handed] = costs.map((input) => (input.value === "" ? NaN : Number(input.value))), s = desk.series, n = desk.method.n;
    if (!(wrong >= 0 && handed >= 0)) return;
    const cost = (i) => wrong * s.errorsAt[i] + handed * (n - s.accepted[i]);
    let best = 0;
    for (let i = 1; i < s.count; i++) if (cost(i) <= cost(best)) best = i;
    const each = (total) => (total / n).toPrecision(4);
    $("desk-risk").value = "";
    $("desk-note").textContent = (handed * n < cost(best) ? "To hand over every point costs less than any cut. " : "") +
      `Cost per point: ${each(cost(best))} at this cut, ${each(cost(s.count - 1))} if all are answered, ${each(handed * n)} if none is.`;
    put(best);
  }

  function slide() {
    desk.at = atCoverage(desk.series, desk.method.n, Number($("desk-coverage").value) / 1000);
    for (const input of [$("desk-risk"), ...costs]) input.value = "";
    $("desk-note").textContent = "";
    show();
  }

  function aim() {
    const text = $("desk-risk").value, risk = Number(text) / 100;
    if (text === "" || !(risk >= 0 && risk <= 1)) return;
    const at = atRisk(desk.series, risk);
    $("desk-note").textContent = at < 0 ? "No cut reaches this risk: the surest points are wrong too often." : "";
    for (const input of costs) input.value = "";
    if (at >= 0) put(at);
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
    else if (costs.every((input) => input.value !== "")) price();
    else slide();
  }

  if ($("desk")) {
    const start = $("desk-coverage").value;
    choose(true);
    $("desk-coverage").value = start;
    desk.at = Number(document.querySelector(".desk").dataset.at); // finer than the slider
    show();
    $("desk-method").addEventListener("change", () => choose(true));
    $("desk-by").addEventListener("change", () => choose(true));
    $("desk-coverage").addEventListener("input", slide);
    $("desk-risk").addEventListener("input", aim);
    for (const input of costs) input.addEventListener("input", price);
    if ($("desk-certified")) $("desk-certified").addEventListener("click", () => {
      $("desk-method").value = "0";
      choose(true);
      $("desk-by").value = data.certificate.c;
      choose(true);
      if (certifiedAt() < 0) $("desk-note").textContent = "The certified cut answers none of these points.";
      else put(certifiedAt());
    });
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

  const widths = new ResizeObserver((boxes) => boxes.forEach(({ target }) => target.classList.toggle("wide", target.scrollWidth > target.clientWidth)));
  for (const box of document.querySelectorAll(".scroll")) widths.observe(box);

  const quote = (x) => (/[",\r\n]/.test(x) ? '"' + x.replace(/"/g, '""') + '"' : x);

  function tableCsv(table) {
    const body = [...table.tBodies[0].rows].map((row) => [...row.cells]);
    const ends = body[0].map((_, column) => body.some((cells) => cells[column].dataset.lo !== undefined)); // columns with intervals
    const head = [...table.tHead.rows[0].cells].flatMap((cell, i) => [cell.textContent, ...(ends[i] ? [cell.textContent + " low", cell.textContent + " high"] : [])]);
    const rows = body.map((cells) => cells.flatMap((cell, i) => [value(cell), ...(ends[i] ? [cell.dataset.lo || "", cell.dataset.hi || ""] : [])]));
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

  // ---- files

  function save(name, type, text) {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function saver(place, label, name, type, text) {
    const button = element("button", "save", label);
    button.type = "button";
    button.addEventListener("click", () => save(name, type, text()));
    place.append(button);
  }

  const looks = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "vector-effect", "opacity", "paint-order", "font-size", "font-family", "white-space"];

  // A copy that needs no style sheet: what is hidden is gone, what is seen carries its looks.
  function plain(source) {
    const copy = source.cloneNode(false), seen = getComputedStyle(source);
    copy.removeAttribute("class");
    for (const look of looks) copy.style.setProperty(look, seen.getPropertyValue(look));
    for (const child of source.childNodes)
      if (!(child instanceof Element)) copy.append(child.cloneNode());
      else if (getComputedStyle(child).display !== "none" || /^(title|desc)$/.test(child.localName)) copy.append(plain(child));
    return copy;
  }

  // All panels of a figure as they stand, below the names of what they show.
  function figureSvg(figure) {
    const box = figure.getBoundingClientRect(), all = svgElement("svg", { xmlns: "http://www.w3.org/2000/svg" });
    const add = (svg) => {
      const b = svg.getBoundingClientRect(), copy = plain(svg);
      for (const [key, value] of Object.entries({ x: b.x - box.x, y: b.y - box.y, width: b.width, height: b.height })) copy.setAttribute(key, value);
      all.append(copy);
    };
    all.append(svgElement("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }));
    for (const key of figure.querySelectorAll(".key:not([aria-pressed=false])")) {
      const swatch = key.querySelector("svg"), b = swatch.getBoundingClientRect(), ink = getComputedStyle(key);
      add(swatch);
      const name = svgElement("text", { x: b.right - box.x + 6, y: b.bottom - box.y, style: `font-size:${ink.fontSize};font-family:${ink.fontFamily.replace(/"/g, "'")};fill:${ink.color}` });
      name.textContent = key.textContent;
      all.append(name);
    }
    for (const svg of figure.querySelectorAll("svg[role=img]")) add(svg);
    for (const [key, value] of [["width", box.width], ["height", box.height]]) all.setAttribute(key, Math.ceil(value));
    return new XMLSerializer().serializeToString(all);
  }

  for (const figure of document.querySelectorAll("figure.fig")) {
    let tools = figure.querySelector(":scope > .tools");
    if (!tools) figure.append(tools = element("div", "tools"));
    saver(tools, "Save SVG", figure.id + ".svg", "image/svg+xml", () => figureSvg(figure));
  }

  function thresholdsJson() {
    return JSON.stringify(data.methods.map((method) => ({ method: method.name, n: method.n, confidences: method.series.map(unpack).map((s) => ({ by: s.by,
      thresholds: s.cut.map((cut, i) => ({ cut, coverage: s.accepted[i] / method.n, risk: s.errorsAt[i] / s.accepted[i], accepted: s.accepted[i], errors: s.errorsAt[i] })) })) })), null, 1);
  }

  if ($("desk")) saver($("fig-desk").querySelector(".tools"), "Save thresholds", "thresholds.json", "application/json", thresholdsJson);
  if (data.certificate) saver($("certificate"), "Save certificate", "certificate.json", "application/json", () => data.certificate.text);

  // ---- the pointer on the risk-coverage curves

  const chart = $("svg-risk-coverage"), hint = $("risk-coverage-hint");
  if (chart) {
    const [left, right] = hint.dataset.sides.split(" ").map(Number);
    chart.addEventListener("pointermove", (event) => {
      const series = event.target.closest("path.s[class*=c]");
      const match = series && /\bm(\d+)\b.*\bc(\d)\b/.exec(series.getAttribute("class"));
      if (!match) return;
      const method = data.methods[Number(match[1])], s = unpack(method.series.find((one) => one.c === Number(match[2])));
      const place = chart.createSVGPoint();
      place.x = event.clientX;
      place.y = event.clientY;
      const at = atCoverage(s, method.n, Math.min(1, Math.max(0, (place.matrixTransform(chart.getScreenCTM().inverse()).x - left) / (right - left))));
      hint.textContent = `${method.name}, ${s.by} \u2265 ${s.cut[at]}: coverage ${percent(s.accepted[at] / method.n)}, risk ${percent(s.errorsAt[at] / s.accepted[at])}`;
    });
  }

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
