// A stand-in for buoy serve: the HTTP API over planted runs or real traces, for working on the page and for its tests.
// usage: node web/mock/server.mjs [--port N] [TRACE.npz …]
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { write_npy } from "./npy.mjs";
import { get_collection, post_collection, write_document } from "./collections.mjs";
import * as make from "./runs.mjs";
import { get_table } from "./tables.mjs";

const PAGE = fileURLToPath(new URL("../../buoy/serve/page/", import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";
const FILES = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/assets/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/assets/app.css": ["app.css", "text/css; charset=utf-8"],
};
const PACE = 60; // milliseconds between two steps of a run that is watched

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const in_a_stream = (event, data) => `event: ${event}\nid: ${data.step ?? 0}\ndata: ${JSON.stringify(data)}\n\n`;

export class Mock {
  runs = new Map();
  live = new Map(); // id → { done, left, listeners, timer }
  collections = new Map();
  made = 0;
  requests = [];

  add(run) {
    this.runs.set(run.info.id, run);
    return run;
  }

  state(run) {
    const live = this.live.get(run.info.id);
    return live ? live.state : "done";
  }
  steps(run) {
    return this.live.get(run.info.id)?.done ?? run.info.steps;
  }

  start(run) {
    this.add(run);
    const live = { done: 0, left: null, state: "running", listeners: new Set() };
    this.live.set(run.info.id, live);
    live.tick = () => {
      if (live.state !== "running") return;
      if (live.left !== null && live.left-- <= 0) return this.change(run, "stopped");
      this.step(run, live);
      if (live.done >= run.info.steps) return this.change(run, "done");
      live.timer = setTimeout(live.tick, PACE).unref();
    };
    live.timer = setTimeout(live.tick, PACE).unref();
    return run.info.id;
  }
  step(run, live) {
    this.send(live, "step", this.step_event(run, live.done++));
  }
  step_event(run, t) {
    const N = run.info.tokens.length,
      changed = [];
    for (let i = 0; i < N; ++i) if (run.step_tokens[t * N + i] !== run.step_tokens[(t + 1) * N + i]) changed.push(i);
    const open = Array.from({ length: N }, (_, i) => i).filter((i) => run.guesses && run.guesses[t * N + i] >= 0);
    return {
      step: t,
      tokens: changed,
      ids: changed.map((i) => run.step_tokens[(t + 1) * N + i]),
      pieces: {},
      guesses: {
        positions: open,
        ids: open.map((i) => run.guesses[t * N + i]),
        confidence: open.map((i) => run.sure[t * N + i]),
      },
    };
  }
  change(run, state) {
    const live = this.live.get(run.info.id);
    live.state = state;
    this.send(live, "state", { state });
  }
  send(live, event, data) {
    for (const reply of live.listeners) reply.write(in_a_stream(event, data));
  }

  info(run) {
    const steps = this.steps(run),
      N = run.info.tokens.length;
    const arrays = Object.entries(run.arrays).map(([name, a]) => ({
      name,
      shape: /^received|flow/.test(name) ? [steps, ...a.shape.slice(1)] : a.shape,
      dtype: "float32",
      what: name,
    }));
    const tokens = Array.from(run.step_tokens.subarray(steps * N, (steps + 1) * N));
    return {
      ...run.info,
      state: this.state(run),
      steps,
      step_numbers: run.info.step_numbers.slice(0, steps),
      has_guesses: run.guesses !== null,
      tokens,
      pieces: tokens.map((t) => run.info.vocabulary[t] ?? ""),
      arrays,
      answer: tokens
        .slice(run.info.prompt_length)
        .filter((t) => t !== run.info.mask_id)
        .map((t) => run.info.vocabulary[t])
        .join(""),
    };
  }
  about() {
    return {
      version: "0.2.0",
      commit: "mock",
      models: ["mini-mdm", "mini-arm"],
      limits: { prompt_tokens: 4096, body_bytes: 1 << 20, runs: 8, history: 64 },
      live: true,
      traces: true,
    };
  }
  summaries() {
    return Array.from(this.runs.values(), (r) => ({
      id: r.info.id,
      model: r.info.model,
      title: r.info.title,
      state: this.state(r),
      steps: this.steps(r),
      parent: r.info.parent,
      fork_step: r.info.fork_step,
      mask: r.info.mask,
      sample: r.info.sample,
      ask: r.info.ask ?? null,
    }));
  }

  of_run(run, rest, query) {
    const N = run.info.tokens.length,
      S = this.steps(run),
      L = run.info.layers.length,
      H = run.info.heads;
    const number = (name) => {
      const value = Number(query.get(name));
      if (!query.has(name) || !Number.isInteger(value))
        throw new Refused(400, `${name}: got "${query.get(name)}", expected a number`);
      return value;
    };
    if (rest === "") return this.info(run);
    if (rest === "/pieces") return run.info.vocabulary;
    if (rest === "/steps/tokens") return write_npy([S + 1, N], run.step_tokens.subarray(0, (S + 1) * N));
    if (rest === "/steps/guesses" || rest === "/steps/guess_confidence") {
      if (!run.guesses) throw new Refused(404, "guesses were not recorded");
      return rest === "/steps/guesses"
        ? write_npy([S, N], run.guesses.subarray(0, S * N))
        : write_npy([S, N], run.sure.subarray(0, S * N));
    }
    if (rest.startsWith("/arrays/")) return this.array(run, rest.slice(8), query, S);
    if (rest === "/null") return write_npy([N], make.uniform(run, query.has("step") ? number("step") : run.info.steps));
    if (rest === "/anchors")
      return make.anchors(run, query.get("rows") === "read" ? "received_read" : "received").filter((a) => a.step < S);
    if (rest === "/attention") {
      const head = query.get("head") === "mean" ? -1 : number("head"),
        of = query.get("direction") === "column" ? make.attention_column : make.attention_row;
      return write_npy([N], of(run, number("step"), number("layer"), head, number("position")));
    }
    if (rest === "/grid") {
      const out = new Float32Array(L * H);
      for (let l = 0; l < L; ++l)
        for (let h = 0; h < H; ++h)
          out[l * H + h] = query.has("target")
            ? make.attention_row(
                run,
                number("step"),
                run.info.layers[l],
                run.arrays.received_heads ? h : -1,
                number("position"),
              )[number("target")]
            : run.heads[((number("step") * L + l) * H + h) * N + number("position")];
      return write_npy([L, H], out);
    }
    if (rest === "/flow") return this.flow(run, number("step"), number("layer"));
    if (rest === "/candidates") {
      const t = number("step"),
        p = number("position"),
        first = run.info.tokens[p],
        ids = Object.keys(run.info.vocabulary)
          .map(Number)
          .filter((i) => i !== run.info.mask_id)
          .slice(0, 9);
      return [first, ...ids.filter((i) => i !== first)]
        .slice(0, Number(query.get("k") ?? 10))
        .map((token, i) => ({ token, piece: run.info.vocabulary[token], probability: 0.5 ** (i + 1 + (t ? 0 : 1)) }));
    }
    throw new Refused(404, `no such path: ${rest}`);
  }
  array(run, name, query, S) {
    const array = run.arrays[name];
    if (!array) throw new Refused(404, `array "${name}" was not recorded`);
    if (!/^received|flow/.test(name)) return write_npy(array.shape, array.data);
    const [, L, ...rest] = array.shape,
      size = rest.reduce((a, b) => a * b, 1);
    if (query.has("layer")) {
      const l = run.info.layers.indexOf(Number(query.get("layer"))),
        out = new Float32Array(S * size);
      for (let t = 0; t < S; ++t) out.set(array.data.subarray((t * L + l) * size, (t * L + l + 1) * size), t * size);
      return write_npy([S, 1, ...rest], out);
    }
    if (query.has("step"))
      return write_npy(
        [1, L, ...rest],
        array.data.subarray(Number(query.get("step")) * L * size, (Number(query.get("step")) + 1) * L * size),
      );
    return write_npy([S, L, ...rest], array.data.subarray(0, S * L * size));
  }
  flow(run, step, layer) {
    const names = run.info.region_names.filter((n) => run.info.regions.includes(n)),
      rows = names.map((name) => {
        const p = run.info.regions.indexOf(name),
          row = make.attention_row(run, step, layer, -1, p),
          out = names.map(() => 0);
        row.forEach((v, i) => (out[names.indexOf(run.info.regions[i])] += v));
        return out;
      });
    return { regions: names, matrix: rows };
  }

  post(path, body) {
    if (path === "/runs") {
      if (!body.prompt && !body.question) throw new Refused(400, "prompt: got nothing, expected a text");
      return [
        201,
        {
          id: this.start(
            this.asked(
              make.planted({
                id: `live-${++this.made}`,
                title: body.prompt || body.question,
                S: body.sampler?.steps ?? 12,
                twist: body.model === "mini-arm" ? 2 : 0,
              }),
              body,
            ),
          ),
        },
      ];
    }
    const run_match = /^\/runs\/([^/]+)\/(fork|stop|go)$/.exec(path);
    if (run_match) {
      const run = this.found(decodeURIComponent(run_match[1])),
        live = this.live.get(run.info.id);
      if (run_match[2] === "fork") {
        const fork = make.planted({
          id: `fork-${++this.made}`,
          title: `${run.info.title} (fork)`,
          N: run.info.tokens.length,
          S: run.info.steps,
          L: run.info.layers.length,
          H: run.info.heads,
          parent: run.info.id,
          fork_step: body.step,
          twist: 1,
          changes: [body],
        });
        fork.info.pins = (body.pin_anchors ?? []).map((layer) => ({
          layer,
          step: body.step,
          positions: make.planted_anchors(run.info.tokens.length, body.step, layer).map((a) => a.position),
          pressed: 7,
          unsettled: 0,
        }));
        fork.step_tokens.set(run.step_tokens.subarray(0, (body.step + 1) * run.info.tokens.length));
        return [201, { id: this.start(fork) }];
      }
      if (!live) throw new Refused(409, "the run is finished");
      if (run_match[2] === "stop") this.change(run, "stopped");
      else if (live.state === "stopped") {
        live.left = body.steps ?? null;
        this.change(run, "running");
        live.timer = setTimeout(live.tick, PACE).unref();
      }
      return [200, { state: live.state }];
    }
    const done = post_collection(this, path, body);
    if (!done) throw new Refused(404, `no such path: ${path}`);
    return done;
  }
  // A run knows its model and what it was asked to do.
  asked(run, body) {
    run.info.model = body.model ?? "planted";
    run.info.question = body.question;
    run.info.sampler = { ...run.info.sampler, ...body.sampler };
    run.info.sample = body.question ? "question" : run.info.id;
    if (body.model === "mini-arm") run.info.mask = "causal";
    return run;
  }
  found(id) {
    const run = this.runs.get(id);
    if (!run) throw new Refused(404, `no run "${id}"`);
    return run;
  }

  get(path, query) {
    if (path === "/about") return this.about();
    if (path === "/runs") return this.summaries();
    const table = path.startsWith("/tables") ? get_table(path) : undefined;
    if (table !== undefined) return table;
    const run = /^\/runs\/([^/]+)(\/.*)?$/.exec(path);
    if (run) return this.of_run(this.found(decodeURIComponent(run[1])), run[2] ?? "", query);
    const held = get_collection(this, path);
    if (held === undefined) throw new Refused(404, `no such path: ${path}`);
    return held;
  }

  stream(run, request, reply) {
    const live = this.live.get(run.info.id);
    reply.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    reply.write(`event: state\ndata: ${JSON.stringify({ state: this.state(run) })}\n\n`);
    if (!live) return reply.end();
    // As the server does: whoever comes late hears every step.
    for (let t = 0; t < live.done; ++t) reply.write(in_a_stream("step", this.step_event(run, t)));
    live.listeners.add(reply);
    request.on("close", () => live.listeners.delete(reply));
  }

  async handle(request, reply) {
    const url = new URL(request.url, "http://localhost");
    this.requests.push(`${request.method} ${url.pathname}`);
    const secure = { "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff" };
    try {
      if (FILES[url.pathname]) {
        const [file, type] = FILES[url.pathname];
        reply.writeHead(200, { ...secure, "Content-Type": type, "Content-Encoding": "gzip" });
        return reply.end(gzipSync(readFileSync(PAGE + file)));
      }
      if (!url.pathname.startsWith("/api/v1/")) throw new Refused(404, "no such path");
      if ((request.headers["x-buoy-token"] ?? url.searchParams.get("token")) !== "mock")
        throw new Refused(401, "token: missing or wrong");
      const path = url.pathname.slice(7),
        stream = /^\/runs\/([^/]+)\/events$/.exec(path);
      if (stream) return this.stream(this.found(decodeURIComponent(stream[1])), request, reply);
      let text = "";
      for await (const part of request) text += part;
      const body = text ? JSON.parse(text) : {};
      const [status, answer] =
        request.method === "GET"
          ? [200, await this.get(path, url.searchParams)]
          : request.method === "POST"
            ? this.post(path, body)
            : request.method === "PATCH"
              ? [200, {}]
              : (write_document(this, request.method, path, body) ?? [404, { error: `no such path: ${path}` }]);
      const binary = Buffer.isBuffer(answer);
      reply.writeHead(status, {
        ...secure,
        "Content-Type": binary
          ? "application/octet-stream"
          : typeof answer === "string"
            ? "text/plain"
            : "application/json",
      });
      reply.end(binary || typeof answer === "string" ? answer : JSON.stringify(answer));
    } catch (error) {
      reply.writeHead(error.status ?? 500, { ...secure, "Content-Type": "application/json" });
      reply.end(JSON.stringify({ error: error.message }));
    }
  }

  // Any free port for 0. The promise gives the port.
  listen(port) {
    this.server = createServer((request, reply) => void this.handle(request, reply));
    return new Promise((done) => this.server.listen(port, "127.0.0.1", () => done(this.server.address().port)));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2),
    at = given.indexOf("--port"),
    port = at >= 0 ? Number(given.splice(at, 2)[1]) : 0,
    mock = new Mock();
  for (const file of given) mock.add(make.traced(file));
  mock.add(make.planted({ id: "planted", title: "Planted: two anchors, one of them moves" }));
  mock.add(make.planted({ id: "wide", title: "512 tokens × 32 steps", N: 512, S: 32, L: 12, H: 12 }));
  console.log(`http://127.0.0.1:${await mock.listen(port)}/#token=mock`);
}
