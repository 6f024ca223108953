"use strict";
/* A scene with its sliders at some places: its plan, its seeds, its link, its study. */
const flashcrowdStudy = (() => {
  const start = (scene) => scene.knobs.map((knob) => knob.start);
  const base = (scene) => scene.knobs.map((knob) => knob.base);

  /* The plan with the sliders at these places: what each changes was found when the page was built. */
  function plan(scene, places) {
    const made = structuredClone(scene.plan);
    scene.knobs.forEach((knob, at) => {
      for (const target of knob.targets) {
        for (const path of target.places) {
          const table = path.slice(0, -1).reduce((part, step) => part[step], made);
          table[path.at(-1)] = target.values[places[at]];
        }
      }
    });
    return JSON.stringify(made);
  }

  /* The seed of a run, as `flashcrowd.study.seeds` derives it from the study's seed. */
  const GOLDEN = 0x9e3779b97f4a7c15n, word = (number) => BigInt.asUintN(64, number);
  function mix(number) {
    let it = word(number);
    it = word((it ^ (it >> 30n)) * 0xbf58476d1ce4e5b9n);
    it = word((it ^ (it >> 27n)) * 0x94d049bb133111ebn);
    return it ^ (it >> 31n);
  }
  const seed = (ofStudy, repeat) =>
    String(mix(mix(BigInt(ofStudy) + GOLDEN) + BigInt(repeat + 1) * GOLDEN) >> 11n);

  /* The study as a file: the scene, and a sweep of two points where the sliders differ from the baseline. */
  function toml(scene, places, against, ofStudy, link) {
    const literal = (value) => JSON.stringify(value);
    const swept = scene.knobs.flatMap((knob, at) => {
      const file = places[at] === knob.base && against[at] === knob.base;
      const values = [against[at], places[at]].map((place) => literal(knob.values[place]));
      return file ? [] : knob.paths.map((path) => `"${path}" = [${values.join(", ")}]`);
    });
    const text = scene.study.replace(/^seed = .*$/m, `seed = ${ofStudy}`);
    if (places.every((place, at) => place === against[at]) && !swept.length) return text;
    const cases = 'cases = ["the baseline", "your settings"]';
    const lines = ["# The baseline, and the settings of the playground.", ...(link ? [`# ${link}`] : []), "[[sweep]]", ...swept];
    return `${text.replace(/^\[report\]$/m, `[report]\n${cases}`)}\n${lines.join("\n")}\n`;
  }

  /* The state of the page as the fragment of a link: values as the study has them, so that it reads well. */
  function fragment({ scene, places, against, pinned, seed: ofStudy }) {
    const found = new URLSearchParams({ scene: scene.key });
    scene.knobs.forEach((knob, at) => found.set(knob.key, knob.values[places[at]]));
    found.set("seed", ofStudy);
    if (pinned) scene.knobs.forEach((knob, at) => found.set(`baseline.${knob.key}`, knob.values[against[at]]));
    return `#${found}`;
  }

  /* The state that a fragment says, and what of it is not known. */
  function state(scenes, text) {
    const given = new URLSearchParams(text.replace(/^#/, ""));
    const wrong = [];
    const named = given.get("scene");
    const scene = scenes.find((it) => it.key === named) || scenes[0];
    if (named && scene.key !== named) wrong.push(`scene = ${named}`);
    const taken = new Set(["scene", "seed"]);
    const read = (prefix, usual) => scene.knobs.map((knob, at) => {
      const key = prefix + knob.key, value = given.get(key);
      taken.add(key);
      if (value === null) return usual[at];
      const place = knob.values.findIndex((it) => String(it) === value);
      if (place < 0) wrong.push(`${key} = ${value}`);
      return place < 0 ? usual[at] : place;
    });
    const places = read("", start(scene));
    const pinned = [...given.keys()].some((key) => key.startsWith("baseline."));
    const against = read("baseline.", base(scene));
    const seedText = given.get("seed") ?? String(scene.seed);
    const sane = /^\d{1,9}$/.test(seedText);
    if (!sane) wrong.push(`seed = ${seedText}`);
    for (const key of given.keys()) if (!taken.has(key)) wrong.push(key);
    return { scene, places, against, pinned, seed: sane ? Number(seedText) : scene.seed, wrong };
  }

  return { base, fragment, plan, seed, start, state, toml };
})();
if (typeof module !== "undefined") module.exports = { flashcrowdStudy };
