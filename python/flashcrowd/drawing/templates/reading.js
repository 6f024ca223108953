/* Helps to read figures and tables; without it the page says the same. */
(() => {
  "use strict";
  const all = (root, what) => [...root.querySelectorAll(what)];

  /* Point at a line or its legend entry: the others are dimmed. A click or Enter keeps it so. */
  function lines(drawing) {
    const series = all(drawing, "[data-series]"), keys = all(drawing, "[data-key]");
    const names = new Set(series.map((it) => it.dataset.series));
    if (names.size < 2 || !keys.length) return;
    let kept = null;
    const show = (chosen) => {
      for (const it of series) it.classList.toggle("dim", chosen !== null && it.dataset.series !== chosen);
      for (const it of keys) it.classList.toggle("dim", chosen !== null && it.dataset.key !== chosen);
    };
    const keep = (name) => {
      kept = kept === name ? null : name;
      for (const it of keys) if (it.tabIndex === 0) it.setAttribute("aria-pressed", it.dataset.key === kept);
      show(kept);
    };
    const on = (it, name, event, act) => it.addEventListener(event, () => act(name));
    for (const it of series.concat(keys)) {
      const name = it.dataset.series ?? it.dataset.key;
      if (!names.has(name)) continue;
      on(it, name, "pointerenter", show);
      it.addEventListener("pointerleave", () => show(kept));
      on(it, name, "click", keep);
      const text = it.querySelector("text");
      if (!it.dataset.key || !text) continue;
      it.setAttribute("tabindex", "0");
      it.setAttribute("role", "button");
      it.setAttribute("aria-pressed", "false");
      it.setAttribute("aria-label", `Show only ${text.textContent}`);
      on(it, name, "focus", show);
      it.addEventListener("blur", () => show(kept));
      it.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); keep(name); }
        if (event.key === "Escape") { kept = name; keep(name); }
      });
      drawing.setAttribute("role", "group");
    }
  }

  function button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "tool";
    made.textContent = text;
    made.addEventListener("click", () => act(made));
    return made;
  }

  function scales(figure) {
    const logarithmic = all(figure, ".drawing.log"), linear = all(figure, ".drawing:not(.log)");
    if (!logarithmic.length) return;
    const made = button("Logarithmic scale", () => {
      const log = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", log);
      for (const it of logarithmic) it.hidden = !log;
      for (const it of linear) it.hidden = log;
    });
    made.setAttribute("aria-pressed", "false");
    figure.insertBefore(made, figure.querySelector("figcaption"));
  }

  /* Numbers as programs read them: a plain minus, no thin spaces. */
  const plain = (text) => text.replaceAll("\u2212", "-").replaceAll("\u202f", "").replaceAll("\u00a0", " ").trim();
  const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

  function csv(table) {
    const header = all(table, "thead th").map((it) => plain(it.textContent));
    const rows = all(table, "tbody tr").map((row) => [...row.children].map((cell) => {
      const small = cell.querySelector("small"), copy = cell.cloneNode(true);
      copy.querySelector("small")?.remove();
      return [plain(copy.textContent), small ? plain(small.textContent).replaceAll("\n", "; ") : ""];
    }));
    const below = header.map((_, i) => rows.some((row) => row[i]?.[1]));
    const flat = (cells) => cells.flatMap(([text, more], i) => below[i] ? [text, more] : [text]);
    const lines = [flat(header.map((name) => [name, `${name}, below`])), ...rows.map(flat)];
    return lines.map((line) => line.map(quoted).join(",") + "\n").join("");
  }

  function download(table, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv(table)], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  all(document, ".drawing").forEach(lines);
  all(document, "figure").forEach(scales);
  all(document, ".scroll").forEach((box, number) => {
    const table = box.querySelector("table"), section = box.closest("section");
    box.after(button("Table as CSV", () => download(table, `${section ? section.id : "table"}-${number + 1}`)));
  });
})();
