"use strict";
/* What a run recorded, and what of it charts show. */
const flashcrowdRecording = (() => {
  /* What a run recorded so far: columns of tables, and how far each download was after each slice. */
  class Recording {
    constructor(tables = {}) {
      this.tables = tables;
      this.history = [];
      this.now = 0;
      this.progress = 0;
      this.ended = false;
    }
    add({ now_s, progress, ended, tables }) {
      Object.assign(this, { now: now_s, progress, ended });
      for (const [name, { from, columns }] of Object.entries(tables)) {
        const table = this.tables[name] ??= {};
        for (const [column, values] of Object.entries(columns)) {
          const rows = table[column] ??= [];
          rows.length = from;
          for (const value of values) rows.push(value);
        }
      }
      const { downloads } = this.tables;
      if (downloads) this.history.push({ t: now_s, host: downloads.host.slice(), bytes: downloads.downloaded_bytes.slice() });
    }
    /* Where the run is expected to end, while it goes on. */
    get end() {
      return this.ended ? this.now : Math.max(this.now, this.progress > 0.02 ? this.now / this.progress : 1.5 * this.now);
    }
  }

  /* The points of a line of a chart: of one source, or the sum of all. */
  function points({ series }, line, scale) {
    const t = [], v = [];
    if (!series) return { t, v };
    for (let row = 0; row < series.t_s.length; row++) {
      if (series.what[row] !== line.what) continue;
      if (line.source && series.source[row] !== line.source && !series.source[row].startsWith(`${line.source}/`)) continue;
      const value = series.value[row] * scale;
      if (t.at(-1) === series.t_s[row]) v[v.length - 1] += value;
      else { t.push(series.t_s[row]); v.push(value); }
    }
    return { t, v };
  }
  function dots({ pings }, scale) {
    const t = [], v = [];
    for (let row = 0; row < (pings?.sent_s.length ?? 0); row++) {
      if (pings.rtt_s[row] === null) continue;
      t.push(pings.sent_s[row]);
      v.push(pings.rtt_s[row] * scale);
    }
    return { t, v };
  }
  /* How many downloads have such an instant behind them: a step for each. */
  function steps({ downloads }, column) {
    const at = (downloads?.[column] ?? []).filter((it) => it !== null).sort((a, b) => a - b);
    return { t: [0, ...at.flatMap((it) => [it, it])], v: [0, ...at.flatMap((_, place) => [place, place + 1])] };
  }
  const read = (tables, chart) => chart.dots ? [{ label: "ping", ...dots(tables, chart.scale ?? 1) }]
    : chart.steps ? [{ label: "downloads", ...steps(tables, chart.steps) }]
    : chart.lines.map((line) => ({ label: line.label, ...points(tables, line, chart.scale ?? 1) }));
  /* The newest value at an instant. */
  function valueAt({ t, v }, now) {
    let low = 0, high = t.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (t[middle] <= now) low = middle + 1; else high = middle;
    }
    return low ? v[low - 1] : NaN;
  }

  return { Recording, points, read, valueAt };
})();
