"use strict";
/* Runs that a worker computes, and those that it has computed. */
const flashcrowdRuns = (() => {
  const { Recording } = flashcrowdRecording;
  /* Recordings that are kept in memory. */
  const MOST = 64;

  class Runs {
    /* `heard` is called when runs have gone on, with the recording of one that has ended; `failed` with a reason. */
    constructor(heard, failed) {
      Object.assign(this, { heard, failed, known: new Map(), tasks: [], asked: 0 });
      /* A worker from a text, and the module from a script: a page that was opened as a file may load neither. */
      const text = `(${flashcrowdEngine})().serve(self)`;
      this.worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      this.worker.addEventListener("message", ({ data }) => this.told(data));
      this.worker.addEventListener("error", (event) => failed(event.message || "the browser starts no worker"));
      const packed = Uint8Array.from(atob(flashcrowdModule), (letter) => letter.charCodeAt(0)).buffer;
      this.worker.postMessage({ packed }, [packed]);
    }

    /* The recording of a run that has ended. */
    ended(key) {
      const found = this.known.get(key);
      return found?.ended ? found : undefined;
    }

    /* Computes what is not known of these, in their order, in place of what was asked for before. Each has a `key`, a
       `plan`, a `seed`, and whether it is `live`: recorded while it goes on. */
    ask(wanted) {
      this.worker.postMessage({ stop: true });
      this.asked++;
      for (const old of this.known.keys()) {
        if (this.known.size <= MOST) break;
        if (!wanted.some((it) => it.key === old)) this.known.delete(old);
      }
      const isNew = (task, at) => !this.ended(task.key) && wanted.findIndex((it) => it.key === task.key) === at;
      this.tasks = wanted.filter(isNew).map((task, at) => ({ ...task, id: `${this.asked}.${at}` }));
      for (const { id, key, plan, seed, live } of this.tasks) {
        if (live) this.known.set(key, new Recording());
        this.worker.postMessage({ id, plan, seed, live });
      }
    }

    told({ id, slice, tables, end_s, wrong }) {
      const task = this.tasks.find((it) => it.id === id);
      if (!task) return;
      if (wrong) {
        this.failed(wrong);
        return;
      }
      if (slice) {
        this.known.get(task.key).add(slice);
        this.heard();
        return;
      }
      const found = this.known.get(task.key) ?? new Recording();
      Object.assign(found, { tables, now: end_s, ended: true });
      this.known.set(task.key, found);
      this.tasks = this.tasks.filter((it) => it !== task);
      this.heard(found);
    }
  }

  return { Runs };
})();
