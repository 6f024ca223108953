"use strict";
/* Plays a swarm back. The data and their format: flashcrowd.report.piece_map and playback. */
(() => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const element = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });

  /* Of each peer the ticks and columns of its steps. */
  function unpack(run) {
    const bytes = Uint8Array.from(atob(run.have), (letter) => letter.charCodeAt(0));
    let place = 0;
    const varint = () => {
      let value = 0, factor = 1, byte;
      do {
        byte = bytes[place++];
        value += (byte & 127) * factor;
        factor *= 128;
      } while (byte > 127);
      return value;
    };
    return run.peers.map(() => {
      const count = varint(), ticks = new Float64Array(count), columns = new Uint16Array(count);
      for (let step = 0, tick = 0; step < count; step++) {
        ticks[step] = tick += varint();
        columns[step] = varint();
      }
      return { ticks, columns };
    });
  }

  function colors(stage) {
    const style = getComputedStyle(stage), probe = element("canvas").getContext("2d");
    const parsed = {};
    for (const name of ["paper", "ink", "quiet", "line", "soft", "accent", "good"]) {
      probe.fillStyle = style.getPropertyValue(`--${name}`).trim();
      parsed[name] = [1, 3, 5].map((at) => parseInt(probe.fillStyle.slice(at, at + 2), 16));
    }
    return parsed;
  }
  const mix = (from, to, share) => from.map((value, at) => value + (to[at] - value) * share);
  const css = (color) => `rgb(${color.map(Math.round).join(" ")})`;

  function start(stage) {
    const data = JSON.parse(document.getElementById(`playback-data-${stage.dataset.playback}`).textContent);
    const map = element("canvas", { className: "map" });
    const strips = element("canvas", { className: "strips" });
    const play = element("button", { type: "button", textContent: "Play" });
    const slider = element("input", { type: "range", min: 0, max: 1000, step: 1 });
    slider.setAttribute("aria-label", "Time");
    const clock = element("output");
    const choice = element("select", {}, ...data.runs.map((run, at) => element("option", { value: at, textContent: run.label })));
    const speed = element("select", {}, ...[["10 s", 10], ["30 s", 30], ["90 s", 90]].map(([textContent, value]) => element("option", { value, textContent: `${textContent} per run` })));
    speed.value = 30;
    const order = element("select", {}, element("option", { value: "arrival", textContent: "by arrival" }), element("option", { value: "completion", textContent: "by completion" }));
    for (const [select, label] of [[choice, "Run"], [speed, "Speed"], [order, "Order of rows"]]) select.setAttribute("aria-label", label);
    const now = element("p", { className: "now" });
    map.setAttribute("role", "img");
    strips.setAttribute("role", "img");
    const controls = element("div", { className: "controls" }, play, slider, clock, speed, order);
    if (data.runs.length > 1) controls.append(choice);
    stage.append(controls, now, map, strips);

    let run, steps, rows, next, level, has, total, tick, palette, timer = 0, before = 0;

    function open(index) {
      run = data.runs[index];
      steps = unpack(run);
      total = run.columns * run.levels;
      const key = (peer) => order.value === "arrival" ? run.peers[peer][2] : run.peers[peer][3] < 0 ? Infinity : run.peers[peer][3];
      rows = [...run.peers.keys()].sort((a, b) => key(a) - key(b) || a - b);
      map.width = run.columns;
      map.height = run.peers.length;
      const high = Math.max(1, Math.min(10, 480 / run.peers.length));
      map.style.height = `${Math.max(48, Math.round(high * run.peers.length))}px`;
      strips.hidden = !run.lines.length;
      rewind();
    }
    function rewind() {
      next = new Uint32Array(run.peers.length);
      level = run.peers.map(() => new Uint8Array(run.columns));
      has = new Uint32Array(run.peers.length);
      tick = -1;
    }
    /* The steps up to a tick. */
    function advance(to) {
      if (to < tick) rewind();
      tick = to;
      steps.forEach(({ ticks, columns }, peer) => {
        while (next[peer] < ticks.length && ticks[next[peer]] <= to) {
          level[peer][columns[next[peer]++]]++;
          has[peer]++;
        }
      });
    }
    function drawMap() {
      const context = map.getContext("2d"), picture = context.createImageData(run.columns, run.peers.length);
      const shades = (full) => Array.from({ length: run.levels + 1 }, (_, at) => mix(palette.soft, full, at / run.levels));
      const usual = shades(palette.accent), whole = shades(palette.good);
      rows.forEach((peer, row) => {
        const [, , arrived, completed, left] = run.peers[peer];
        const here = arrived <= tick, gone = left >= 0 && left <= tick;
        const shade = completed >= 0 && completed <= tick ? whole : usual;
        for (let column = 0; column < run.columns; column++) {
          let color = here ? shade[level[peer][column]] : palette.paper;
          if (gone) color = mix(color, palette.paper, 0.65);
          picture.data.set([...color, 255], 4 * (row * run.columns + column));
        }
      });
      context.putImageData(picture, 0, 0);
    }
    function valueAt(line, seconds) {
      let place = line.t.findIndex((t) => t > seconds);
      if (place < 0) place = line.t.length;
      return place ? line.v[place - 1] : NaN;
    }
    function drawStrips(seconds) {
      if (!run.lines.length) return;
      const wide = strips.clientWidth || 640, high = 64, scale = devicePixelRatio || 1;
      strips.style.height = `${high * run.lines.length}px`;
      strips.width = wide * scale;
      strips.height = high * run.lines.length * scale;
      const context = strips.getContext("2d");
      context.scale(scale, scale);
      context.font = "12px 'DejaVu Sans', Verdana, 'Segoe UI', sans-serif";
      run.lines.forEach((line, at) => {
        const top = at * high, most = Math.max(...line.v) || 1;
        const x = (t) => (wide - 2) * t / run.end + 1, y = (v) => top + high - 4 - (high - 24) * v / most;
        context.strokeStyle = css(palette.line);
        context.strokeRect(0.5, top + 0.5, wide - 1, high - 1);
        context.strokeStyle = css(palette.accent);
        context.lineWidth = 1.5;
        context.beginPath();
        line.t.forEach((t, i) => context.lineTo(x(t), y(line.v[i])));
        context.stroke();
        context.lineWidth = 1;
        context.fillStyle = css(palette.ink);
        const value = valueAt(line, seconds), unit = line.unit ? ` ${line.unit}` : "";
        context.fillText(`${line.name}: ${Number.isNaN(value) ? "–" : number(value) + unit} (most ${number(most)}${unit})`, 6, top + 15, wide - 12);
        context.strokeStyle = css(palette.ink);
        context.beginPath();
        context.moveTo(x(seconds), top + 20);
        context.lineTo(x(seconds), top + high);
        context.stroke();
      });
    }
    function show() {
      const seconds = run.end * slider.value / slider.max;
      advance(seconds / run.tick);
      drawMap();
      drawStrips(seconds);
      const at = (column) => run.peers.filter((peer) => peer[column] >= 0 && peer[column] <= tick).length;
      const came = at(2), sum = has.reduce((a, b) => a + b, 0);
      clock.value = `${seconds.toFixed(run.end < 100 ? 1 : 0)} s of ${run.end.toFixed(run.end < 100 ? 1 : 0)} s`;
      slider.setAttribute("aria-valuetext", clock.value);
      const part = run.peers.length < run.leechers ? ` (a sample of ${run.leechers})` : "";
      now.textContent = `${came} of ${run.peers.length} leechers${part} have come, ${at(3)} have the whole file, ${at(4)} have left. `
        + `Those who came have ${came ? number(100 * sum / (came * total)) : 0} % of the pieces.`;
      map.setAttribute("aria-label", `Pieces of each leecher at ${clock.value}. ${now.textContent}`);
      strips.setAttribute("aria-label", run.lines.map((line) => `${line.name}: ${number(valueAt(line, seconds) || 0)} ${line.unit}`).join("; "));
    }
    function stop() {
      cancelAnimationFrame(timer);
      clearTimeout(timer);
      timer = 0;
      play.textContent = "Play";
    }
    /* Moves on smoothly, or in twenty steps where less motion is asked for. */
    function move(when) {
      const elapsed = before ? (when - before) / 1000 : 0;
      before = when;
      slider.value = position = Math.min(slider.max, position + slider.max * (calm.matches ? 0.05 : elapsed / speed.value));
      show();
      if (position >= slider.max) stop();
      else again();
    }
    let position = 0;
    function again() {
      timer = calm.matches ? setTimeout(() => move(performance.now()), 50 * speed.value) : requestAnimationFrame(move);
    }
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (+slider.value >= +slider.max) slider.value = 0;
      position = +slider.value;
      before = 0;
      play.textContent = "Pause";
      again();
    });
    slider.addEventListener("input", () => { position = +slider.value; show(); });
    for (const select of [choice, order]) {
      select.addEventListener("change", () => { stop(); open(+choice.value); show(); });
    }
    const theme = () => { palette = colors(stage); show(); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
    addEventListener("resize", show);
    open(0);
    /* Begins where half of the steps are made: an empty map says nothing. */
    const all = steps.flatMap(({ ticks }) => [...ticks]).sort((a, b) => a - b);
    slider.value = all.length ? slider.max * all[all.length >> 1] * run.tick / run.end : 0;
    theme();
  }
  document.querySelectorAll("[data-playback]").forEach(start);
})();
