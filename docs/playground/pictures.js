"use strict";
/* What is drawn of a run: a map of pieces, of clients or of a queue, and charts over time. */
const flashcrowdPictures = (() => {
  const { points, valueAt } = flashcrowdRecording;

  function palette(of) {
    const style = getComputedStyle(of);
    return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
  }
  /* A canvas in the size of its place on the screen, cleared. */
  function surface(canvas, high) {
    const wide = canvas.parentElement.clientWidth, scale = devicePixelRatio || 1;
    canvas.style.height = `${high}px`;
    canvas.width = Math.round(wide * scale);
    canvas.height = Math.round(high * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    return { context, wide, high };
  }
  /* A round number of at least so much, for the end of an axis. */
  function nice(most) {
    if (!(most > 0)) return 1;
    const unit = 10 ** Math.floor(Math.log10(most));
    return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((it) => it * unit).find((it) => it >= most * 0.999);
  }

  const LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 20;
  /* Lines or dots up to an instant; the baseline dashed behind them, as far as the axis goes. */
  function drawChart(canvas, chart, mine, theirs, now, end) {
    const { context, wide, high } = surface(canvas, 132), color = palette(canvas);
    const colors = [color.accent, color.second];
    const most = nice(Math.max(...[...mine, ...theirs].map(({ v }) => v.reduce((a, b) => Math.max(a, b), 0))));
    const x = (t) => LEFT + (wide - LEFT - RIGHT) * t / end, y = (v) => high - BOTTOM - (high - BOTTOM - TOP) * v / most;
    context.font = "12px system-ui, sans-serif";
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const share of [0, 0.5, 1]) {
      context.strokeStyle = color.line;
      context.beginPath();
      context.moveTo(LEFT, Math.round(y(share * most)) + 0.5);
      context.lineTo(wide - RIGHT, Math.round(y(share * most)) + 0.5);
      context.stroke();
      context.fillStyle = color.quiet;
      context.fillText(Number((share * most).toPrecision(3)).toLocaleString("en"), LEFT - 6, y(share * most));
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600].find((it) => end / it <= (wide < 480 ? 5 : 10)) ?? end;
    for (let t = 0; t <= end; t += step) {
      const last = t + step > end;
      context.textAlign = last && x(t) > wide - 30 ? "right" : "center";
      context.fillText(`${t} s`, last && x(t) > wide - 30 ? wide - 2 : x(t), high - 4);
    }
    const path = ({ t, v }, until) => {
      context.beginPath();
      for (let at = 0; at < t.length && t[at] <= until; at++) context.lineTo(x(t[at]), y(v[at]));
      context.stroke();
    };
    const spots = ({ t, v }, until, size) => {
      for (let at = 0; at < t.length && t[at] <= until; at++) context.fillRect(x(t[at]) - size / 2, y(v[at]) - size / 2, size, size);
    };
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, wide - LEFT - RIGHT + 2, high - BOTTOM + 2);
    context.clip();
    theirs.forEach((line, at) => {
      context.globalAlpha = 0.75;
      context.strokeStyle = context.fillStyle = theirs.length > 1 ? colors[at] : color.quiet;
      context.setLineDash([5, 3]);
      context.lineWidth = 1.25;
      if (chart.dots) spots(line, end, 1.5); else path(line, end);
    });
    context.globalAlpha = 1;
    context.setLineDash([]);
    mine.forEach((line, at) => {
      context.strokeStyle = context.fillStyle = colors[at];
      context.lineWidth = 2;
      if (chart.dots) spots(line, now, 3); else path(line, now);
    });
    context.restore();
    context.strokeStyle = color.ink;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.round(x(now)) + 0.5, TOP);
    context.lineTo(Math.round(x(now)) + 0.5, high - BOTTOM);
    context.stroke();
  }

  /* Who has which piece: a row a person, a column a piece. */
  function drawPieces(canvas, { tables }, now, scene) {
    const { downloads, have } = tables, rows = downloads?.host.length ?? 0;
    const pieces = scene.map.pieces, people = scene.map.people;
    const high = Math.max(96, Math.min(280, 12 * people));
    const { context, wide } = surface(canvas, high), color = palette(canvas);
    const tall = high / people, broad = wide / pieces, gap = tall > 6 ? 1 : 0, side = broad > 6 ? 1 : 0;
    context.fillStyle = color.soft;
    context.fillRect(0, 0, wide, high);
    if (!rows) return "No person has come yet.";
    const order = [...downloads.arrived_s.keys()].sort((a, b) => downloads.arrived_s[a] - downloads.arrived_s[b]);
    const place = new Map(order.map((row, at) => [downloads.peer[row], at]));
    const state = new Map();
    let came = 0, done = 0, gone = 0;
    for (let row = 0; row < rows; row++) {
      if (downloads.arrived_s[row] > now) continue;
      came++;
      const complete = downloads.completed_s[row] !== null && downloads.completed_s[row] <= now;
      const left = downloads.left_s[row] !== null && downloads.left_s[row] <= now;
      done += complete; gone += left && complete;
      state.set(downloads.peer[row], { complete, left });
      context.fillStyle = color.line;
      context.globalAlpha = left ? 0.35 : 0.6;
      context.fillRect(0, place.get(downloads.peer[row]) * tall, wide, tall - gap);
    }
    for (let row = 0; row < (have?.peer.length ?? 0); row++) {
      if (have.t_s[row] > now) break;
      const it = state.get(have.peer[row]);
      if (!it) continue;
      context.globalAlpha = it.left ? 0.35 : 1;
      context.fillStyle = it.complete ? color.good : color.accent;
      context.fillRect(have.piece[row] * broad, place.get(have.peer[row]) * tall, broad - side, tall - gap);
    }
    context.globalAlpha = 1;
    return `${came} of ${people} people have come, ${done} have the whole file${gone ? `, ${gone} have left` : ""}.`;
  }

  /* How far each client is: a bar from its arrival to its end, filled as far as it got. */
  function drawClients(canvas, recording, now, scene, end) {
    const { downloads } = recording.tables, rows = downloads?.host.length ?? 0;
    const total = scene.map.clients, high = Math.max(120, 9 * total);
    const { context, wide } = surface(canvas, high), color = palette(canvas);
    const tall = high / total, x = (t) => LEFT + (wide - LEFT - RIGHT) * t / end;
    context.fillStyle = color.soft;
    context.fillRect(LEFT, 0, wide - LEFT - RIGHT, high);
    const order = [...Array(rows).keys()].sort((a, b) => downloads.arrived_s[a] - downloads.arrived_s[b]);
    let snapshot = recording.history.findLast(({ t }) => t <= now);
    if (now >= recording.now) snapshot = recording.history.at(-1);
    const bytes = new Map(snapshot?.host.map((host, at) => [host, snapshot.bytes[at]]));
    let came = 0, done = 0;
    order.forEach((row, at) => {
      const from = downloads.arrived_s[row];
      if (from > now) return;
      came++;
      const complete = downloads.completed_s[row] !== null && downloads.completed_s[row] <= now;
      const to = complete ? downloads.completed_s[row] : now;
      done += complete;
      const share = complete ? 1 : Math.min(1, (bytes.get(downloads.host[row]) ?? 0) / scene.map.bytes);
      const top = at * tall + 1, thick = tall - 2;
      context.fillStyle = color.line;
      context.fillRect(x(from), top, Math.max(2, x(to) - x(from)), thick);
      context.fillStyle = complete ? color.good : color.accent;
      context.fillRect(x(from), top, Math.max(2, (x(to) - x(from)) * share), thick);
    });
    return `${came} of ${total} clients have come, ${done} have the whole file.`;
  }

  /* The packets that wait now, a square each. */
  function drawQueue(canvas, { tables }, now, scene) {
    const line = points(tables, { what: "queue-packets", source: scene.map.source }, 1);
    const most = Math.max(20, line.v.reduce((a, b) => Math.max(a, b), 0));
    const { context, wide } = surface(canvas, 60), color = palette(canvas);
    const deep = most > 60 ? 4 : 2, columns = Math.ceil(most / deep), cell = Math.min(13, (wide - 34) / columns);
    const waiting = Math.round(valueAt(line, now)) || 0, top = (60 - deep * cell) / 2;
    context.fillStyle = color.soft;
    context.fillRect(0, 0, wide, 60);
    context.fillStyle = color.accent;
    for (let at = 0; at < waiting; at++) {
      const column = Math.floor(at / deep), row = at % deep;
      context.fillRect(wide - 30 - (column + 1) * cell, top + row * cell, cell - (cell > 4 ? 1.5 : 0.5), cell - (cell > 4 ? 1.5 : 0.5));
    }
    /* The line itself: an arrow to the right. */
    context.strokeStyle = context.fillStyle = color.ink;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(wide - 26, 30);
    context.lineTo(wide - 10, 30);
    context.stroke();
    context.beginPath();
    context.moveTo(wide - 4, 30);
    context.lineTo(wide - 12, 25);
    context.lineTo(wide - 12, 35);
    context.fill();
    return waiting === 1 ? "1 packet waits." : `${waiting} packets wait.`;
  }

  const MAPS = { pieces: drawPieces, clients: drawClients, queue: drawQueue };
  return { MAPS, drawChart };
})();
