"use strict";
/* From tables to numbers, and from numbers to sentences. */
const flashcrowdAnswer = (() => {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const known = (values) => values.filter((value) => value !== null);
  /* As numpy has it: between the two nearest values, in proportion. */
  function percentile(values, percent) {
    const sorted = Float64Array.from(values).sort(), place = (sorted.length - 1) * percent / 100;
    const below = Math.floor(place), above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
  }
  const pings = (tables) => known(tables.pings.rtt_s).map((rtt) => 1000 * rtt);
  const transfer = (tables, name) =>
    known(tables.transfers.goodput_bps.filter((_, row) => tables.transfers.transfer[row] === name)).map((bps) => bps / 1e6);

  /* The measures of a run by the names that a study's report has for them; NaN where there is none. */
  const MEASURES = {
    "mean download time": (tables) => mean(known(tables.downloads.duration_s)),
    "last completion": (tables) => Math.max(...tables.downloads.completed_s.filter((_, row) => tables.downloads.duration_s[row] !== null)),
    "mean ping": (tables) => mean(pings(tables)),
    "p95 ping": (tables) => percentile(pings(tables), 95),
    "disk throughput": (tables) => mean(tables.origins.disk_bps) / 8e6,
    "miss ratio": (tables) => 100 * mean(known(tables.origins.miss_ratio)),
  };
  /* Outcomes of runs that count, as in a report: nothing was cut off or lost. */
  const GOOD = ["completed", "stopped"];
  function value(name, tables) {
    if (!GOOD.includes(tables.run.outcome[0])) return NaN;
    const of = name.match(/^goodput of (.*)$/);
    const found = of ? mean(transfer(tables, of[1])) : MEASURES[name](tables);
    return Number.isFinite(found) ? found : NaN;
  }

  /* Student's t for 95 %, by the number of runs: what a report takes for fewer than 5 runs. */
  const STUDENT = { 2: 12.706204736432095, 3: 4.302652729911275, 4: 3.182446305284263 };
  /* Mean over runs and its interval; a single run has none. */
  function estimate(values, least = -Infinity) {
    const n = values.length, centre = mean(values);
    if (n < 2) return { mean: centre, n };
    const spread = Math.sqrt(values.reduce((sum, it) => sum + (it - centre) ** 2, 0) / (n - 1));
    const half = STUDENT[n] * spread / Math.sqrt(n);
    return { mean: centre, low: Math.max(least, centre - half), high: centre + half, n };
  }

  const number = (it, digits = 3) => it.toLocaleString("en", { maximumSignificantDigits: digits });
  /* The ends of an interval, with as many decimals as its middle. */
  function interval({ mean: centre, low, high }) {
    const decimals = centre === 0 ? 0 : Math.min(20, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(centre)))));
    const written = (it) => it.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return `${written(low)} to ${written(high)}`;
  }
  const amount = (it, unit) => `${number(it)}${unit ? `\u00a0${unit}` : ""}`;
  const both = (it) => it.length < 2 ? it.join("") : `${it.slice(0, -1).join(", ")} and ${it.at(-1)}`;

  /* What a value of a slider is called, and what a sentence says of it. */
  const shown = (knob, place) => (knob.names?.[knob.values[place]] ?? String(knob.values[place])).replaceAll(" ", "\u00a0");
  const phrase = (knob, place) =>
    knob.phrases?.[knob.values[place]] ?? knob.says.replace("{}", knob.names?.[knob.values[place]] ?? knob.values[place]);
  const differing = (scene, places, against) => scene.knobs.map((_, at) => at).filter((at) => places[at] !== against[at]);
  /* More conditions than this are listed, not in the sentence. */
  const MOST_PHRASES = 3;
  function conditions(scene, places, at) {
    return at.length > MOST_PHRASES ? "" : both(at.map((it) => phrase(scene.knobs[it], places[it])));
  }

  /* The values of both sides in the runs that have both. */
  function paired(mine = [], theirs = []) {
    const both = mine.map((_, at) => at).filter((at) => Number.isFinite(mine[at]) && Number.isFinite(theirs[at]));
    return [mine, theirs].map((values) => both.map((at) => values[at]));
  }
  /* How a number compares with that of the baseline: beyond doubt, or not. */
  function compared(mine, theirs) {
    const pairs = mine.map((it, at) => it - theirs[at]);
    const change = estimate(pairs), level = mean(theirs), ratio = mean(mine) / level;
    const same = change.mean === 0 && pairs.every((it) => it === 0);
    if (same) return "the same as";
    if (change.low <= 0 && change.high >= 0) return "not clearly different from";
    if (!(level > 0)) return "more than";
    if (ratio >= 1.95) return `${number(ratio, 2)} times`;
    if (ratio <= 0.1 && ratio > 0) return `1/${number(1 / ratio, 2)} of`;
    return `${number(100 * Math.abs(ratio - 1), 2)}\u00a0% ${ratio > 1 ? "more" : "less"} than`;
  }

  /* The answer: condition and number; the comparison with the baseline; the doubt. */
  function sentences({ scene, places, against, pinned }, mine, theirs, repeats) {
    const measure = scene.measures[0], values = (mine[0] || []).filter(Number.isFinite);
    const at = differing(scene, places, against);
    if (!values.length) return ["No value: no run ended as planned."];
    const found = estimate(values, 0);
    const says = measure.says.replace("{}", amount(found.mean, measure.unit));
    const doubt = found.n < repeats ? `${found.n} of ${repeats} runs.`
      : `${found.n} runs: the 95\u00a0% interval is ${interval(found)}\u00a0${measure.unit}.`;
    const when = !at.length ? `In the baseline${pinned ? "" : `, where ${scene.baseline}`}, `
      : at.length > MOST_PHRASES ? "With your settings, " : `When ${conditions(scene, places, at)}, `;
    const told = [`${when}${says}.`];
    const [ours, other] = paired(mine[0], theirs[0]);
    if (at.length && other.length) {
      const where = conditions(scene, against, at);
      told.push(`That is ${compared(ours, other)} the ${amount(mean(other), measure.unit)} of the baseline${where ? `, where ${where}` : ""}.`);
    }
    return [...told, doubt];
  }

  return { amount, compared, differing, estimate, interval, paired, sentences, shown, value };
})();
if (typeof module !== "undefined") module.exports = { flashcrowdAnswer };
