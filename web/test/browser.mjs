// Drives Chromium over the DevTools protocol through a pipe: no WebSocket and nothing from npm is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-extensions",
  "--disable-default-apps",
  "--mute-audio",
  "--hide-scrollbars",
  "--force-color-profile=srgb",
  "--remote-debugging-pipe",
];
const PATIENCE = Number(process.env.BUOY_PATIENCE ?? 60000); // milliseconds until something that should happen counts as not happening

export class Browser {
  static async start(program = process.env.BUOY_CHROMIUM ?? "chromium") {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "buoy-browser-"));
    browser.process = spawn(program, [...FLAGS, `--user-data-dir=${browser.profile}`], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    browser.gone = new Promise((done) => browser.process.on("exit", done));
    browser.process.on("error", (error) => browser.fail_all(error));
    browser.process.on("exit", (code) => browser.fail_all(new Error(`chromium ended with ${code}`)));
    browser.waiting = new Map();
    browser.listeners = [];
    browser.next = 1;
    let held = "";
    browser.process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const parts = (held + text).split("\0");
      held = parts.pop();
      for (const part of parts) browser.receive(JSON.parse(part));
    });
    browser.process.stdio[3].on("error", () => {});
    await browser.send("Browser.getVersion");
    return browser;
  }
  fail_all(error) {
    for (const { failed } of this.waiting.values()) failed(error);
    this.waiting.clear();
  }
  receive(message) {
    if (message.id) {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) waiting?.failed(new Error(`${waiting.method}: ${message.error.message}`));
      else waiting?.done(message.result);
    } else for (const listener of this.listeners) listener(message);
  }
  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done, failed) => this.waiting.set(id, { done, failed, method }));
  }
  async page(options) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    return new Page(this, targetId, sessionId).prepare(options);
  }
  async close() {
    this.send("Browser.close").catch(() => {});
    await Promise.race([this.gone, new Promise((done) => setTimeout(done, 3000))]);
    if (this.process.exitCode === null) {
      this.process.kill("SIGKILL");
      await this.gone;
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const KEYS = {
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Escape: 27,
  Enter: 13,
  Home: 36,
  End: 35,
  Tab: 9,
};

// Roles that say nothing without a name.
const NAMED = new Set(
  "button,link,table,toolbar,radiogroup,graphics-symbol,textbox,searchbox,combobox,listbox,slider,spinbutton,checkbox,radio,tab,menuitem,switch,image,img,Canvas,dialog,region,navigation,DisclosureTriangle".split(
    ",",
  ),
);

export class Page {
  complaints = []; // errors and warnings of the console, exceptions, violations of the policy
  requests = [];

  constructor(browser, target, session) {
    Object.assign(this, { browser, target, session });
    browser.listeners.push((message) => message.sessionId === session && this.note(message));
  }
  send(method, params) {
    return this.browser.send(method, params, this.session);
  }
  note({ method, params }) {
    if (method === "Runtime.exceptionThrown")
      this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type))
      this.complaints.push(params.args.map((a) => a.value ?? a.description).join(" "));
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level))
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }
  // What a card's menu saves. Of many files a browser would ask: so what it was given to save is read instead.
  async saved(card, kind) {
    await this.evaluate(`if (!window.saved) { window.saved = {}; const blobs = {}, make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (blob) => { const url = make(blob); blobs[url] = blob; return url; };
      HTMLAnchorElement.prototype.click = function () { const read = new FileReader(); read.onload = () => (window.saved[this.download] = read.result); read.readAsDataURL(blobs[this.href]); }; } 0`);
    await this.evaluate(`document.querySelector('[data-card="${card}"] [data-save="${kind}"]').click()`);
    const url = await this.until(`window.saved["buoy-${card}.${kind}"]`, `${card}.${kind}`);
    return Buffer.from(url.split(",")[1], "base64");
  }
  async prepare({ width = 1280, height = 900, dark = false, downloads = null } = {}) {
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.resize(width, height);
    await this.dark(dark);
    if (downloads)
      await this.browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
    return this;
  }
  resize(width, height) {
    return this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 500,
    });
  }
  dark(on) {
    return this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: on ? "dark" : "light" }],
    });
  }
  async open(url) {
    // A change of the fragment alone would not load the page again.
    await this.send("Page.navigate", { url: "about:blank" });
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
  }
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  // Waits until the expression is true; gives its value.
  async until(expression, what = expression) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const value = await this.evaluate(expression).catch(() => false);
      if (value) return value;
      if (Date.now() > end) throw new Error(`did not come true: ${what}`);
      await new Promise((done) => setTimeout(done, 25));
    }
  }
  // Two frames and a task: what a change of state leads to has been drawn.
  settle() {
    return this.evaluate("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(d))))");
  }
  async key(key, modifiers = 0) {
    const text = key.length === 1 ? key : undefined;
    const common = {
      key,
      code: text === " " ? "Space" : key,
      windowsVirtualKeyCode: KEYS[key] ?? key.toUpperCase().charCodeAt(0),
      modifiers,
    };
    await this.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      text: text ?? (key === "Enter" ? "\r" : undefined),
      ...common,
    });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
    await this.settle();
  }
  async click_at(x, y, modifiers = 0) {
    for (const type of ["mousePressed", "mouseReleased"])
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1, modifiers });
    await this.settle();
  }
  async click(selector, modifiers = 0) {
    const at = await this.until(
      `(() => { const e = document.querySelector(${JSON.stringify(selector)}); if (!e) return null; e.scrollIntoView({block: "center"}); const r = e.getClientRects()[0]; return r && {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`,
      `something to click at ${selector}`,
    );
    await this.click_at(at.x, at.y, modifiers);
  }
  // Focused without a click: what is loading may still move it.
  async type(selector, text) {
    await this.until(
      `(() => { const e = document.querySelector(${JSON.stringify(selector)}); e?.focus(); return e !== null && document.activeElement === e; })()`,
      `something to type into at ${selector}`,
    );
    await this.send("Input.insertText", { text });
  }
  // Controls and pictures that a screen reader would find without a name, by the browser's own tree, and how many it finds in all.
  async nameless() {
    const { nodes } = await this.send("Accessibility.getFullAXTree");
    const found = [];
    for (const node of nodes) {
      if (node.ignored || !NAMED.has(node.role?.value) || node.name?.value?.trim()) continue;
      const { object } = await this.send("DOM.resolveNode", { backendNodeId: node.backendDOMNodeId });
      const { result } = await this.send("Runtime.callFunctionOn", {
        objectId: object.objectId,
        functionDeclaration: "function () { return (this.outerHTML ?? this.textContent).slice(0, 120); }",
      });
      found.push(`${node.role.value}: ${result.value}`);
    }
    return { found, seen: nodes.filter((n) => !n.ignored && NAMED.has(n.role?.value)).length };
  }
  async picture(full = true) {
    const metrics = full ? (await this.send("Page.getLayoutMetrics")).cssContentSize : null;
    const clip = metrics
      ? { x: 0, y: 0, width: metrics.width, height: Math.min(metrics.height, 8000), scale: 1 }
      : undefined;
    const { data } = await this.send("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: full });
    return Buffer.from(data, "base64");
  }
  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}
