"use strict";
/* The simulator's module. Self-contained: the page sends this function's text to its worker, and Node runs it too. */
const flashcrowdEngine = () => {
  /* A run of a plan, paused at its first instant. Each run has an instance of its own, and memory with it. */
  async function start(module, plan, seed) {
    const { exports } = await WebAssembly.instantiate(module, {});
    const text = new TextEncoder().encode(plan);
    const place = exports.reserve(text.length);
    new Uint8Array(exports.memory.buffer, place, text.length).set(text);
    const answer = (failed) => {
      const bytes = new Uint8Array(exports.memory.buffer, exports.answer(), exports.answer_bytes());
      const said = new TextDecoder().decode(bytes);
      if (failed) throw new Error(said);
      return said;
    };
    answer(exports.start(BigInt(seed)));
    return {
      /* The next slice of virtual time, see the crate's `Session::advance`. */
      advance: (seconds) => JSON.parse(answer(exports.advance(seconds))),
      /* All tables, as their JSON. */
      tables: () => answer(exports.tables()),
    };
  }

  /* The bytes of the module, as the page has them: gzip. */
  async function unpack(packed) {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  }

  /* Simulated seconds of the first slice, and milliseconds that a slice is to take. */
  const FIRST_SLICE = 0.5, SLICE_MS = 15;

  /* A worker: it computes one run after another, and looks for messages between slices. */
  function serve(scope) {
    let module, current, waiting = [], busy = false;
    const pause = () => new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { port1.close(); resolve(); };
      port2.postMessage(0);
    });
    async function compute({ id, plan, seed, live }) {
      const run = await start(await module, plan, seed);
      let step = FIRST_SLICE, slice;
      const goesOn = () => current === id;
      do {
        const before = performance.now();
        slice = run.advance(step);
        const took = performance.now() - before;
        step *= Math.min(2, Math.max(0.25, SLICE_MS / Math.max(took, 0.1)));
        if (live) scope.postMessage({ id, slice });
        await pause();
      } while (!slice.ended && goesOn());
      if (slice.ended && goesOn()) scope.postMessage({ id, end_s: slice.now_s, tables: JSON.parse(run.tables()) });
    }
    async function work() {
      if (busy) return;
      busy = true;
      while (waiting.length) {
        const task = waiting.shift();
        current = task.id;
        try {
          await compute(task);
        } catch (error) {
          const fault = error instanceof WebAssembly.RuntimeError;
          const wrong = fault ? "an engine fault; please report it with this page's link" : String(error.message || error);
          scope.postMessage({ id: task.id, wrong });
        }
      }
      busy = false;
    }
    scope.onmessage = ({ data }) => {
      if (data.packed) module = unpack(data.packed);
      if (data.stop) { waiting = []; current = undefined; }
      if (data.plan) { waiting.push(data); work(); }
    };
  }

  return { start, unpack, serve };
};
if (typeof module !== "undefined") module.exports = { flashcrowdEngine };
