"use strict";
/* Opens pages in a headless Chromium, over the pipe of its debugging protocol, and prints what a script on them gives.
   Called with a JSON object: `chromium`, `profile` (a folder), and `pages`, of which each has `url`, `script` (an
   expression, which may be a promise), and perhaps `width`, `height`, `dark`, `screenshot` (a file). */
const { spawn } = require("node:child_process");
const { writeFileSync } = require("node:fs");

async function main({ chromium, profile, pages }) {
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--remote-debugging-pipe", `--user-data-dir=${profile}`];
  const browser = spawn(chromium, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [, , , input, output] = browser.stdio, waiting = new Map();
  let rest = "", last = 0;
  output.on("data", (chunk) => {
    const parts = (rest + chunk).split("\0");
    rest = parts.pop();
    for (const part of parts) {
      const { id, result, error } = JSON.parse(part);
      const { resolve, reject } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (error) reject?.(new Error(error.message)); else resolve?.(result);
    }
  });
  browser.on("exit", () => waiting.forEach(({ reject }) => reject(new Error("Chromium ended"))));
  const call = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
  });
  try {
    const found = [];
    for (const { url, script, width = 1200, height = 900, dark = false, screenshot } of pages) {
      const { targetId } = await call("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
      const on = (method, params) => call(method, params, sessionId);
      const features = [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }];
      await on("Emulation.setEmulatedMedia", { features });
      await on("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
      await on("Page.enable");
      await on("Page.navigate", { url });
      const done = "new Promise((resolve) => { const look = () => document.documentElement?.dataset.state === 'done' ? resolve() : setTimeout(look, 50); look(); })";
      const evaluate = (expression) => on("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      for (let again = true; again;) {
        try { await evaluate(done); again = false; } catch { /* The page was just replaced. */ }
      }
      const { result, exceptionDetails } = await evaluate(script);
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      found.push(result.value);
      if (screenshot) {
        const { data } = await on("Page.captureScreenshot", { captureBeyondViewport: true });
        writeFileSync(screenshot, Buffer.from(data, "base64"));
      }
      await call("Target.closeTarget", { targetId });
    }
    process.stdout.write(JSON.stringify(found));
  } finally {
    browser.kill();
  }
}

main(JSON.parse(require("node:fs").readFileSync(0, "utf8"))).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
