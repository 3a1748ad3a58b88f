// Everything about the chosen token: what it receives over steps, by layer and head; what it attends to and who attends to it; candidates.
import { Candidate, get_array, get_json, run_path } from "./api";
import { Card, Table } from "./card";
import { bars, grid_chart, lift_color, line_chart, share_color } from "./chart";
import { h, replace } from "./dom";
import { place } from "./maps";
import { Array_ } from "./npy";
import { reason, Run } from "./run";
import { State, Store } from "./state";
import { color } from "./theme";
import { head_name, layer_name, percent, quoted, times, visible } from "./words";

const TOP = 10,
  ASKING = "Asking the model…";

interface Grid {
  value: (layer: number, head: number) => number;
  paint: (value: number) => number;
  what: string;
  problem: string; // why there is none
}

// Answers of the server by what was asked; a newer question makes the older one's answer worthless, not wrong.
class Asked<T> {
  private held = new Map<string, T | Error>();
  private waiting = new Set<string>();
  private timer = 0;
  constructor(
    private fetch: (path: string) => Promise<T>,
    private then: () => void,
  ) {}
  get(path: string): T | Error | null {
    const held = this.held.get(path);
    if (held !== undefined) return held;
    window.clearTimeout(this.timer);
    // While the scrubber moves, only the step it rests on is asked for.
    this.timer = window.setTimeout(() => {
      if (this.waiting.has(path)) return;
      this.waiting.add(path);
      this.fetch(path)
        .catch((error) => new Error(reason(error)))
        .then((got) => {
          this.waiting.delete(path);
          if (this.held.size > 200) this.held.clear();
          this.held.set(path, got);
          this.then();
        });
    }, 60);
    return null;
  }
}

export class TokenPanel {
  readonly about: Card;
  readonly grid: Card;
  readonly rows: Card;
  readonly candidates: Card;
  private run: Run | null = null;
  private grid_answers: Asked<Array_>;
  private row_answers: Asked<Array_>;
  private column_answers: Asked<Array_>;
  private candidate_answers: Asked<Candidate[]>;

  constructor(private store: Store) {
    const again = () => this.run && this.update(this.run, this.store.state);
    this.grid_answers = new Asked(get_array, again);
    this.row_answers = new Asked(get_array, again);
    this.column_answers = new Asked(get_array, again);
    this.candidate_answers = new Asked((path) => get_json<Candidate[]>(path), again);
    this.about = new Card("token", "The token over the steps", () => this.over_steps_table());
    this.grid = new Card("grid", "Layers × heads", () => this.grid_table());
    this.rows = new Card("rows", "What it attends to, who attends to it", () => this.rows_table());
    this.candidates = new Card("candidates", "Candidates", () => this.candidates_table());
  }

  update(run: Run, state: State): void {
    this.run = run;
    if (state.position < 0 || state.position >= run.N) {
      for (const card of [this.about, this.rows, this.candidates])
        card.clear("Choose a token: click it in the text or in a map.");
      this.grid.clear("Choose a token to see what it receives in every layer and head.");
      return;
    }
    this.show_about(run, state);
    this.show_grid(run, state);
    this.show_rows(run, state);
    this.show_candidates(run, state);
  }

  private lift(step: number, state: State): number {
    const values = this.run?.lift(step, state.layer, state.head, state.rows, state.null, () => this.store.tell());
    return values ? values[state.position] : NaN;
  }

  private show_about(run: Run, state: State): void {
    const p = state.position,
      wrote = run.commit_index(p),
      confidence = run.info.confidence[p - run.info.prompt_length];
    const facts = [
      run.info.regions[p],
      run.info.classes[p],
      wrote >= 0
        ? `written at step ${run.pass(wrote)}${Number.isFinite(confidence) ? `, ${percent(confidence)} sure` : ""}`
        : null,
    ].filter(Boolean);
    const values = Array.from({ length: run.S }, (_, t) => this.lift(t, state));
    this.about.say("");
    replace(
      this.about.body,
      h(
        "p",
        { class: "lead" },
        h("b", {}, quoted(run.piece(run.info.tokens[p]))),
        ` position ${p} · ${facts.join(" · ")}`,
      ),
      line_chart(
        [{ values, color: color("s0"), name: "lift" }],
        state.step,
        `Received attention of position ${p} over the steps`,
        (step) => this.store.set({ step }),
        (step) => run.pass(step),
        state.null === "none" ? null : 1,
      ),
      h(
        "p",
        { class: "soft" },
        `${times(values[state.step])} ${state.null === "none" ? "of 1/N" : "its null"} at this step; dashed: the null. ${layer_name(state.layer)}, ${head_name(state.head)}.`,
      ),
    );
  }

  private over_steps_table(): Table {
    const run = this.run,
      state = this.store.state;
    if (!run || state.position < 0) return { columns: ["step", "lift"], rows: [] };
    return {
      columns: ["step", "position", "received_over_null"],
      rows: Array.from({ length: run.S }, (_, t) => [
        run.pass(t),
        state.position,
        this.lift(t, state),
      ]),
    };
  }

  // With a target: attention from the token to it. Without: what the token receives ÷ null, where single heads were recorded.
  private grid_values(run: Run, state: State): Grid {
    const none: Grid = { value: () => NaN, paint: () => 0, what: "", problem: "" };
    if (state.target >= 0) {
      const why = this.no_model(run, state);
      if (why) return { ...none, problem: why };
      const answer = this.grid_answers.get(
        `${run_path(run.id)}/grid?step=${state.step}&position=${state.position}&target=${state.target}`,
      );
      if (answer === null) return { ...none, problem: ASKING };
      if (answer instanceof Error) return { ...none, problem: answer.message };
      const most = Math.max(...Array.from(answer.data), 1e-9),
        H = answer.shape[1];
      return {
        value: (l, i) => answer.data[l * H + i],
        paint: (v) => share_color(v, most),
        problem: "",
        what: `attention from ${state.position} to ${state.target} ${quoted(run.piece(run.info.tokens[state.target]))}; in %, darkest ${percent(most)}`,
      };
    }
    if (!run.has("received_heads")) return this.asked_grid(run, state, none);
    const again = () => this.store.tell();
    return {
      value: (l, i) => run.lift(state.step, run.info.layers[l], i, "all", state.null, again)?.[state.position] ?? NaN,
      paint: lift_color,
      problem: "",
      what: this.receives(run, state),
    };
  }

  // Where single heads were not recorded the model says what the token receives in each.
  private asked_grid(run: Run, state: State, none: Grid): Grid {
    const why = this.no_model(run, state);
    if (why) return { ...none, problem: `Single heads were not recorded (--per-head). ${why}` };
    const at = (step: number) =>
      this.grid_answers.get(`${run_path(run.id)}/grid?step=${step}&position=${state.position}`);
    const answer = at(state.step),
      first = state.null === "first" ? at(0) : answer;
    if (answer === null || first === null) return { ...none, problem: ASKING };
    if (answer instanceof Error) return { ...none, problem: answer.message };
    if (first instanceof Error) return { ...none, problem: first.message };
    const H = answer.shape[1],
      uniform =
        state.null === "none"
          ? 1 / run.length_at(state.step)
          : (run.null_row(state.step, -1, -1, "all", "uniform", () => this.store.tell())?.[state.position] ?? NaN);
    return {
      value: (l, i) => answer.data[l * H + i] / (state.null === "first" ? first.data[l * H + i] : uniform),
      paint: lift_color,
      problem: "",
      what: `${this.receives(run, state)} Computed by the model, since single heads were not recorded.`,
    };
  }

  private receives(run: Run, state: State): string {
    return `what ${quoted(run.piece(run.info.tokens[state.position]))} receives ${state.null === "none" ? "× N" : "÷ null"}, all rows. Shift-click another token: attention between the two.`;
  }

  private show_grid(run: Run, state: State): void {
    const { value, paint, what, problem } = this.grid_values(run, state),
      shares = state.target >= 0;
    this.grid.say(problem);
    if (problem === ASKING && this.grid.body.childElementCount) return; // the last answer stays until the next
    if (problem) return replace(this.grid.body);
    const chart = grid_chart(
      {
        rows: run.info.layers.map((l) => `L${l}`),
        columns: Array.from({ length: run.H }, (_, i) => String(i)),
        value,
        color: paint,
        say: (r, c) => `layer ${run.info.layers[r]}, head ${c}: ${shares ? percent(value(r, c)) : times(value(r, c))}`,
        numbers: (v) => (shares ? (v * 100).toFixed(v < 0.0995 ? 1 : 0) : v.toFixed(v < 9.95 ? 1 : 0)),
        chosen: (r, c) => state.layer === run.info.layers[r] && (state.head === c || state.head < 0),
        choose: (r, c) => {
          const same = state.layer === run.info.layers[r] && state.head === c;
          this.store.set(same ? { layer: -1, head: -1 } : { layer: run.info.layers[r], head: c });
        },
      },
      "Layers by heads; choose a cell to fix layer and head",
    );
    replace(this.grid.body, h("p", { class: "soft" }, what), h("div", { class: "scroll-x" }, chart));
  }

  private grid_table(): Table {
    const run = this.run,
      state = this.store.state,
      rows: Table["rows"] = [];
    if (run && state.position >= 0) {
      const { value } = this.grid_values(run, state);
      run.info.layers.forEach((layer, l) => {
        for (let i = 0; i < run.H; ++i) rows.push([layer, i, value(l, i)]);
      });
    }
    return { columns: ["layer", "head", state.target >= 0 ? "attention" : "received_over_null"], rows };
  }

  private asked_rows(
    run: Run,
    state: State,
  ): { row: Array_ | Error | null; column: Array_ | Error | null; layer: number } {
    const layer = state.layer >= 0 ? state.layer : run.info.layers[run.L - 1];
    const path = (direction: string) =>
      `${run_path(run.id)}/attention?step=${state.step}&layer=${layer}&head=${state.head < 0 ? "mean" : state.head}&position=${state.position}&direction=${direction}`;
    return { row: this.row_answers.get(path("row")), column: this.column_answers.get(path("column")), layer };
  }

  // Why nothing can be asked of the model, or nothing.
  private no_model(run: Run, state: State): string {
    if (run.writing(state.step, state.position) === "absent") return "The token is not there yet at this step.";
    return run.info.can_recompute ? "" : "Needs the model: buoy view or buoy serve on a machine that has it.";
  }

  private show_rows(run: Run, state: State): void {
    const reason = this.no_model(run, state);
    if (reason) return this.rows.clear(reason);
    const { row, column, layer } = this.asked_rows(run, state);
    if (row === null || column === null) {
      this.rows.say(ASKING);
      return;
    }
    if (row instanceof Error || column instanceof Error)
      return this.rows.clear((row instanceof Error ? row : (column as Error)).message);
    this.rows.say("");
    const list = (title: string, array: Array_, explain: string) => {
      const order = Array.from(array.data, (value, i) => ({ value, i }))
        .sort((a, b) => b.value - a.value || a.i - b.i)
        .slice(0, TOP);
      return h(
        "div",
        {},
        h("h3", {}, title),
        this.strip(run, state, array),
        bars(
          order.map(({ value, i }) => ({
            label:
              run.token_at(state.step, i) === run.mask_id() ? "▢" : visible(run.piece(run.token_at(state.step, i))),
            detail: ` ${i} · ${run.info.regions[i] ?? ""}`,
            value,
            choose: () => this.store.set({ target: i }),
            class: i === state.target ? "chosen" : undefined,
          })),
          percent,
        ),
        h("p", { class: "soft" }, explain),
      );
    };
    replace(
      this.rows.body,
      h(
        "p",
        { class: "soft" },
        `${run.is_implicit(layer) ? "Implicit attention of a state space layer" : "Exact"}, recomputed: step ${run.pass(state.step)}, layer ${layer}${state.layer < 0 ? " (the last; choose another above)" : ""}, ${head_name(state.head)}.`,
      ),
      h(
        "div",
        { class: "two" },
        list("Attends to", row, "Shares of its own attention; they add up to 100 %."),
        list("Attended by", column, "Share of each row's attention that goes to this token."),
      ),
    );
  }

  // All positions in one line, strongest darkest.
  private strip(run: Run, state: State, array: Array_): HTMLCanvasElement {
    const canvas = h("canvas", { class: "strip", role: "img", "aria-label": "Attention over all positions" }),
      width = Math.min(run.N, 1024),
      per = run.N / width;
    canvas.width = width;
    canvas.height = 1;
    const context = canvas.getContext("2d") as CanvasRenderingContext2D,
      most = Math.max(...Array.from(array.data), 1e-12);
    for (let x = 0; x < width; ++x) {
      let value = 0;
      for (let i = Math.floor(x * per); i < Math.max(Math.floor((x + 1) * per), Math.floor(x * per) + 1); ++i)
        value = Math.max(value, array.data[i]);
      context.fillStyle =
        "#" +
        share_color(Math.sqrt(value / most), 1)
          .toString(16)
          .padStart(6, "0");
      context.fillRect(x, 0, 1, 1);
    }
    canvas.addEventListener("click", (event) =>
      this.store.set({ target: Math.floor((event.offsetX / canvas.clientWidth) * run.N) }),
    );
    canvas.title = place(run, state.step, state.position);
    return canvas;
  }

  private rows_table(): Table {
    const run = this.run,
      state = this.store.state,
      columns = ["position", "token", "region", "attends_to", "attended_by"];
    if (!run || state.position < 0) return { columns, rows: [] };
    const { row, column } = this.asked_rows(run, state);
    if (!row || !column || row instanceof Error || column instanceof Error) return { columns, rows: [] };
    return {
      columns,
      rows: run.info.tokens.map((_, i) => [
        i,
        run.piece(run.token_at(state.step, i)),
        run.info.regions[i],
        row.data[i],
        column.data[i],
      ]),
    };
  }

  private asked_candidates(run: Run, state: State): Candidate[] | Error | null {
    return this.candidate_answers.get(
      `${run_path(run.id)}/candidates?step=${state.step}&position=${state.position}&k=${TOP}`,
    );
  }

  private show_candidates(run: Run, state: State): void {
    const reason = this.no_model(run, state);
    if (reason) return this.candidates.clear(reason);
    const answer = this.asked_candidates(run, state);
    if (answer === null) return this.candidates.say(ASKING);
    if (answer instanceof Error) return this.candidates.clear(answer.message);
    this.candidates.say("");
    const written = run.info.tokens[state.position];
    replace(
      this.candidates.body,
      h(
        "p",
        { class: "soft" },
        `What the model would write at position ${state.position} at step ${run.pass(state.step)}${answer.some((c) => c.token === written) ? "; outlined: what stands there in the end" : ""}.`,
      ),
      bars(
        answer.map((c) => ({
          label: visible(c.piece),
          detail: ` ${c.token}`,
          value: c.probability,
          color: c.token === written ? color("s1") : undefined,
          class: c.token === written ? "chosen" : undefined,
        })),
        percent,
      ),
    );
  }

  private candidates_table(): Table {
    const run = this.run,
      answer = run && this.store.state.position >= 0 ? this.asked_candidates(run, this.store.state) : null;
    return {
      columns: ["token", "piece", "probability"],
      rows: answer && !(answer instanceof Error) ? answer.map((c) => [c.token, c.piece, c.probability]) : [],
    };
  }
}
