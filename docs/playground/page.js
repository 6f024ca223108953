"use strict";
/* The page: sliders ask for runs, a worker computes them, pictures and sentences follow. */
(() => {
  const { amount, compared, differing, estimate, interval, paired, sentences, shown, value } = flashcrowdAnswer;
  const { MAPS, drawChart } = flashcrowdPictures;
  const { read, valueAt } = flashcrowdRecording;
  const scenes = flashcrowdScenes;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const by = (id) => document.getElementById(id);
  const element = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  const COLUMNS = ["measure", "your settings", "baseline", "your settings against the baseline"];
  /* Seconds that the whole picture plays, and milliseconds between a slider's last move and the run. */
  const PLAY_S = 8, REST_MS = 120;

  let state = flashcrowdStudy.state(scenes, location.hash);
  let runs, shownRun, position = 0, playing = !calm.matches, before = 0, frame = 0, view;

  const key = (places, seed) => `${state.scene.key} ${places} ${seed}`;
  const seeds = () => Array.from({ length: state.scene.repeats }, (_, at) => flashcrowdStudy.seed(state.seed, at));

  /* What the pictures need to know of the plan. */
  function viewOf(scene, plan) {
    const [first] = JSON.parse(plan).workloads, map = { ...scene.map };
    if (map.kind === "pieces") {
      map.pieces = Math.ceil(first.size_bytes / first.piece_bytes);
      map.people = first.populations.find((it) => it.role === "leecher").hosts.length;
    } else if (map.kind === "clients") {
      map.clients = first.populations.reduce((sum, it) => sum + it.hosts.length, 0);
      map.bytes = first.files.size_bytes;
    }
    return { ...scene, map };
  }

  /* Asks for all runs of the settings and of the baseline: the first of each first. */
  function compute() {
    const { scene, places, against } = state;
    const [mine, theirs] = [places, against].map((it) => flashcrowdStudy.plan(scene, it));
    view = viewOf(scene, mine);
    runs.ask(seeds().flatMap((seed, repeat) => [
      { key: key(places, seed), plan: mine, seed, live: repeat === 0 },
      { key: key(against, seed), plan: theirs, seed, live: false },
    ]));
    shownRun = runs.known.get(key(places, seeds()[0]));
    position = 0;
    before = 0;
    if (!playing && shownRun.ended) position = shownRun.end;
    answer();
    again();
  }
  /* The runs have gone on; `ended` is one that has ended. */
  function heard(ended) {
    if (ended && ended === shownRun && !playing) position = ended.end;
    if (ended) answer();
    again();
  }
  function failed(reason) {
    notice(`The engine did not run this: ${reason}.`);
    by("answer").textContent = "No answer.";
  }

  const run = (places, repeat) => runs.ended(key(places, seeds()[repeat]));
  /* The values of a measure in the runs so far, in the order of seeds, as far as all are there. */
  function values(places, name) {
    const found = [];
    for (let repeat = 0; repeat < state.scene.repeats && run(places, repeat); repeat++) {
      found.push(value(name, run(places, repeat).tables));
    }
    return found;
  }

  function answer() {
    const { scene, places, against } = state;
    const mine = scene.measures.map((it) => values(places, it.name));
    const theirs = scene.measures.map((it) => values(against, it.name));
    document.documentElement.dataset.state = runs.tasks.length ? "computing" : "done";
    URL.revokeObjectURL(by("download").href);
    by("download").href = URL.createObjectURL(new Blob([study()], { type: "application/toml" }));
    if (!mine[0].length) {
      by("answer").textContent = "It computes …";
      by("compared").textContent = "";
      return;
    }
    const [first, ...rest] = sentences(state, mine, theirs, scene.repeats);
    by("answer").textContent = first;
    by("compared").textContent = rest.join(" ");
    const told = (found, { unit }) => {
      const real = found.filter(Number.isFinite);
      if (!real.length) return "–";
      const { mean: centre, low, high } = estimate(real, 0);
      return low === undefined ? amount(centre, unit) : `${amount(centre, unit)} (${interval({ mean: centre, low, high })})`;
    };
    by("table").replaceChildren(...scene.measures.map((measure, at) => {
      const sides = paired(mine[at], theirs[at]);
      const comparable = sides[0].length && differing(scene, places, against).length;
      const change = comparable ? `${compared(...sides)} the baseline` : "–";
      const cells = [measure.name, told(mine[at], measure), told(theirs[at], measure), change];
      return element("tr", {}, ...cells.map((text, place) => {
        const cell = element("td", { textContent: text });
        cell.dataset.label = COLUMNS[place];
        return cell;
      }));
    }));
    const odd = seeds().map((_, repeat) => run(places, repeat)).filter((it) => it && it.tables.run.outcome[0] !== "completed");
    const n = mine[0].length;
    by("doubt").textContent = `${n === 1 ? "One run: a sample." : `Means of ${n} runs with seeds of their own, and 95 % intervals over seeds.`}`
      + (odd.length ? ` ${odd.length} of ${n} runs did not end as planned and do not count: ${odd[0].tables.run.reason[0] || odd[0].tables.run.outcome[0]}.` : "");
  }

  /* A page that was opened as a file has an address that says nothing to others. */
  const address = () => (location.protocol === "file:" ? "" : location.href.replace(/#.*/, "")) + flashcrowdStudy.fragment(state);
  const study = () => flashcrowdStudy.toml(state.scene, state.places, state.against, state.seed, address());
  function notice(text) {
    by("notice").textContent = text;
    by("notice").hidden = !text;
  }

  function draw() {
    const { scene, against } = state, other = run(against, 0);
    const alone = !differing(scene, state.places, against).length;
    const end = Math.max(shownRun.end, Math.min(other?.end ?? 0, 2.5 * shownRun.end)) || 1;
    const time = Math.min(position, shownRun.now);
    by("now").textContent = MAPS[scene.map.kind](by("map"), shownRun, time, view, end);
    by("map").setAttribute("aria-label", by("now").textContent);
    scene.charts.forEach((chart, at) => {
      const figure = by("charts").children[at], mine = read(shownRun.tables, chart);
      const theirs = other && !alone ? read(other.tables, chart) : [];
      drawChart(figure.querySelector("canvas"), chart, mine, theirs, time, end);
      const keys = mine.map((line, place) => {
        const now = valueAt(line, time), named = mine.length > 1 ? `${line.label} ` : "";
        return element("span", { className: place ? "key two" : "key", textContent: named + (Number.isFinite(now) ? amount(now, chart.unit) : "–") });
      });
      if (theirs.length) keys.push(element("span", { className: "key base", textContent: "baseline" }));
      figure.querySelector("figcaption").replaceChildren(element("b", { textContent: chart.title }), ...keys);
    });
    by("time").value = shownRun.end ? 1000 * time / shownRun.end : 0;
    const digits = shownRun.end < 100 ? 1 : 0;
    by("clock").value = `${time.toFixed(digits)} s${shownRun.ended ? ` of ${shownRun.end.toFixed(digits)} s` : " …"}`;
    by("time").setAttribute("aria-valuetext", by("clock").value);
    by("play").textContent = playing && (position < shownRun.end || !shownRun.ended) ? "Pause" : "Play";
    if (shownRun.now > 0) document.documentElement.dataset.firstPicture ??= Math.round(performance.now());
  }
  /* The picture plays behind the computation, so that each run takes as long to watch. */
  function move(when) {
    frame = 0;
    const elapsed = before ? Math.min(0.1, (when - before) / 1000) : 0;
    before = when;
    if (playing) position = Math.min(shownRun.now, position + elapsed * shownRun.end / PLAY_S);
    draw();
    if (playing && (!shownRun.ended || position < shownRun.end)) again();
  }
  function again() {
    frame ||= requestAnimationFrame(move);
  }

  let rest = 0;
  function changed() {
    notice("");
    history.replaceState(null, "", flashcrowdStudy.fragment(state));
    labels();
    clearTimeout(rest);
    rest = setTimeout(compute, REST_MS);
  }
  function labels() {
    state.scene.knobs.forEach((knob, at) => {
      const row = by("knobs").children[at], text = shown(knob, state.places[at]);
      row.querySelector("output").value = text;
      row.querySelector("input").value = state.places[at];
      row.querySelector("input").setAttribute("aria-valuetext", text);
      const same = state.places[at] === state.against[at];
      row.querySelector(".mark").textContent = same ? "" : `baseline: ${shown(knob, state.against[at])}`;
    });
    by("seed").value = state.seed;
    by("pin").disabled = !differing(state.scene, state.places, state.against).length;
  }
  function knob(it, at) {
    const slider = element("input", { type: "range", min: 0, max: it.values.length - 1, step: 1, id: `knob-${it.key}` });
    slider.addEventListener("input", () => { state.places[at] = Number(slider.value); changed(); });
    const label = element("span", {}, it.label, element("output"));
    return element("label", { className: "knob" }, label, slider, element("span", { className: "mark" }));
  }

  /* Shows a scene, with what the link says. */
  function open() {
    const { scene, wrong } = state;
    for (const link of by("scenes").querySelectorAll("a")) {
      if (link.dataset.scene === scene.key) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    by("question").textContent = scene.question;
    by("story").textContent = scene.story;
    by("caption").textContent = scene.map.caption;
    by("download").download = "study.toml";
    const seed = element("input", { type: "number", id: "seed", min: 0, max: 999999999, step: 1 });
    seed.addEventListener("change", () => {
      const given = Math.floor(Number(seed.value));
      if (given >= 0 && given <= 999999999) state.seed = given;
      changed();
    });
    const label = element("label", { className: "knob" }, element("span", {}, "Seed of the random numbers", seed));
    by("knobs").replaceChildren(...scene.knobs.map(knob), label);
    by("charts").replaceChildren(...scene.charts.map((chart) => {
      const canvas = element("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${chart.title} over time`);
      return element("figure", {}, element("figcaption"), canvas);
    }));
    labels();
    notice(wrong.length ? `The link has what this page does not know: ${wrong.join(", ")}.` : "");
    playing = !calm.matches;
    compute();
  }

  by("columns").append(...COLUMNS.map((textContent) => element("th", { textContent })));
  by("scenes").append(...scenes.map((scene) => {
    const link = element("a", { href: `#scene=${scene.key}`, textContent: scene.name });
    link.dataset.scene = scene.key;
    return element("li", {}, link);
  }));
  by("play").addEventListener("click", () => {
    const over = shownRun.ended && position >= shownRun.end;
    if (over) position = 0;
    playing = over || !playing;
    before = 0;
    again();
  });
  by("time").addEventListener("input", () => {
    playing = false;
    position = shownRun.end * by("time").value / 1000;
    again();
  });
  by("pin").addEventListener("click", () => {
    state.against = [...state.places];
    state.pinned = true;
    changed();
  });
  by("reset").addEventListener("click", () => {
    const { scene } = state;
    Object.assign(state, { places: flashcrowdStudy.start(scene), against: flashcrowdStudy.base(scene), pinned: false, seed: scene.seed });
    changed();
  });
  by("link").addEventListener("click", async () => {
    history.replaceState(null, "", flashcrowdStudy.fragment(state));
    try {
      await navigator.clipboard.writeText(location.href);
      by("link").textContent = "Copied";
    } catch {
      by("link").textContent = "The address bar has it";
    }
    setTimeout(() => { by("link").textContent = "Copy link"; }, 2000);
  });
  by("knobs").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    state = flashcrowdStudy.state(scenes, location.hash);
    open();
  });
  addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  addEventListener("load", () => {
    runs = new flashcrowdRuns.Runs(heard, failed);
    open();
  });

  /* For those who look from the console, and for the tests. */
  self.flashcrowdPage = {
    get state() { return state; },
    get study() { return study(); },
    get tables() { return seeds().map((_, repeat) => run(state.places, repeat)?.tables); },
    get plan() { return flashcrowdStudy.plan(state.scene, state.places); },
    get seeds() { return seeds(); },
  };
})();
