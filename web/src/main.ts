// Starts the page: header, views, keyboard; loads the runs that the state names and follows those that go on.
import { About, ApiError, get_json, one_file, RunSummary, take_token } from "./api";
import { AskView } from "./ask_view";
import { beside, CompareView } from "./compare_view";
import { button, h, replace, select, set_choices } from "./dom";
import { Feed } from "./feed";
import { Help } from "./help";
import { handle_key } from "./keys";
import { LiveBar, LivePanel } from "./live";
import { place } from "./maps";
import { reason, Run } from "./run";
import { RunView } from "./run_view";
import { State, Store, View } from "./state";
import { TablesView } from "./tables_view";
import { add_level_classes } from "./text_view";
import { on_theme } from "./theme";
import { Tour } from "./tour";
import { pair_in, run_example } from "./pair";
import { run_choices, times } from "./words";

const NAMES: [View, string][] = [
  ["run", "Run"],
  ["compare", "Side by side"],
  ["live", "New run"],
  ["ask", "Ask"],
  ["tables", "Study"],
];
const SEEN = "buoy-tour-seen";
const AGAIN = 60; // milliseconds until a run that has grown is loaded again
const fresh_run = { step: 0, layer: -1, head: -1, position: -1, target: -1 };

class App {
  private about: About | null = null;
  private runs: RunSummary[] = [];
  private loaded = new Map<string, Run>();
  private loading = new Set<string>();
  private feeds = new Map<string, Feed>();
  private tabs = new Map<View, HTMLButtonElement>();
  private nav = h("nav", { "aria-label": "Views" });
  private main = h("main", { id: "main", tabindex: -1 });
  private status = h("p", { class: "status", role: "alert" });
  private spoken = h("p", { class: "spoken", "aria-live": "polite" });
  private help = new Help();
  private live_bars = [new LiveBar(), new LiveBar()]; // of the run, and of the one beside it
  readonly store = new Store();
  private unexplored = ""; // the run that was opened without a token: the strongest anchor's is chosen
  private chooser = select("Run", [], "", (id) => this.open(id));
  private run_view = new RunView(
    this.store,
    () => this.about?.live ?? false,
    (id) => this.opened([this.store.state.run, id]),
  );
  private compare_view = new CompareView(this.store);
  private live_panel = new LivePanel((ids) => this.opened(ids));
  private open = (id: string, at: Partial<State> = {}) => {
    if (at.position === undefined) this.unexplored = id;
    const view = this.store.state.view === "compare" ? "compare" : "run";
    this.store.set({ ...fresh_run, view, run: id, ...at });
  };
  private ask_view = new AskView(this.store, this.open, async () => {
    await this.list_runs();
    return this.runs;
  });
  private tables_view = new TablesView(this.store, () => this.runs, this.open);
  private tour = new Tour(this.store, {
    found: () => pair_in(this.runs, this.store.state.run),
    models: () => (this.about?.live && !one_file() ? this.about.models.slice(0, 2) : []),
    make: async () => {
      await run_example(this.about?.models.slice(0, 2) ?? []);
      await this.list_runs();
    },
    load: async (id) => {
      if (!this.loaded.has(id)) await this.load(id);
      const run = this.loaded.get(id);
      if (!run) throw new Error(`run ${id} is not here`);
      return run;
    },
  });

  private run(): Run | undefined {
    return this.loaded.get(this.store.state.run);
  }

  async start(tour_allowed: boolean): Promise<void> {
    add_level_classes();
    on_theme(() => {
      add_level_classes();
      this.run_view.repaint();
      this.compare_view.repaint();
      this.store.tell();
    });
    this.show_frame();
    this.store.on((state, before) => this.show(state, before));
    this.tour.onend = () => this.forget_tour();
    window.addEventListener("keydown", (event) => this.key(event));
    try {
      this.about = await get_json<About>("/about");
      await this.list_runs();
    } catch (error) {
      const refused = error instanceof ApiError && error.status === 401;
      this.nav.hidden = this.chooser.hidden = true; // there is nothing behind them
      this.status.textContent = `${reason(error)}${refused ? ". Open the address that buoy printed when it started: it holds the token." : ""}`;
      return;
    }
    const there: Partial<Record<View, boolean>> = {
      live: this.about.live,
      ask: this.about.collections ?? this.about.live,
      tables: this.about.tables ?? true,
      compare: this.runs.length > 1 || this.about.live,
    };
    for (const [view, yes] of Object.entries(there) as [View, boolean][])
      (this.tabs.get(view) as HTMLElement).hidden = !yes || (one_file() && view !== "compare" && view !== "tables");
    const first = this.first_run();
    if (tour_allowed) this.unexplored = this.store.state.run || first?.id || "";
    if (!this.store.state.run) this.store.set(first ? { run: first.id } : { view: this.about.live ? "live" : "run" });
    this.store.tell();
    const welcome = this.runs.length ? this.store.state.view === "run" : this.about.live;
    if (tour_allowed && welcome && !this.seen_tour()) window.setTimeout(() => this.tour.start(), 700);
  }

  // A first visitor should see a masked model write, where there is one.
  private first_run(): RunSummary | undefined {
    return this.runs.find((r) => r.mask !== undefined && r.mask !== "causal") ?? this.runs[0];
  }

  private show_frame(): void {
    for (const [view, name] of NAMES)
      this.tabs.set(
        view,
        button(name, () => this.store.set({ view })),
      );
    this.nav.append(...this.tabs.values());
    this.chooser.className = "chooser";
    replace(
      document.getElementById("app") as HTMLElement,
      h(
        "a",
        {
          class: "skip",
          href: "#main",
          onclick: (e: Event) => {
            e.preventDefault(); // the fragment is the state's
            this.main.focus();
          },
        },
        "To the run",
      ),
      h(
        "header",
        { class: "top" },
        h("b", { class: "brand" }, "Buoy"),
        this.nav,
        this.chooser,
        h(
          "span",
          { class: "end" },
          button("Tour", () => this.tour.start()),
          button("?", () => this.help.open(), { "aria-label": "Help" }),
        ),
      ),
      this.status,
      ...this.live_bars.map((bar) => bar.element),
      this.main,
      this.spoken,
    );
  }

  private async list_runs(): Promise<void> {
    this.runs = await get_json<RunSummary[]>("/runs");
    this.store.tell();
  }

  // Runs that were started here: one is shown, two stand side by side.
  private opened(ids: string[]): void {
    void this.list_runs().catch(() => {});
    this.store.set(
      ids.length > 1
        ? {
            ...fresh_run,
            step: this.store.state.view === "run" ? this.store.state.step : 0,
            layer: this.store.state.layer,
            view: "compare",
            run: ids[0],
            other: ids[1],
          }
        : { ...fresh_run, view: "run", run: ids[0] },
    );
  }

  private need(id: string): Run | null {
    const run = this.loaded.get(id);
    if (run) return run;
    if (id && !this.loading.has(id)) void this.load(id);
    return null;
  }

  private async load(id: string): Promise<void> {
    this.loading.add(id);
    try {
      const run = await Run.load(id),
        before = this.loaded.get(id);
      this.loaded.set(id, run);
      this.feeds.get(id)?.close();
      this.feeds.delete(id);
      const goes_on = run.info.state !== "done" && run.info.state !== "failed";
      // Steps may have come while it was loaded: whoever looked at the newest, or opens a run that goes on, sees the newest.
      const step = this.store.state.step,
        newest = before ? step >= before.S - 1 : goes_on && step === 0;
      if (newest && id === this.store.state.run) this.store.set({ step: run.S - 1 });
      if (goes_on)
        this.feeds.set(
          id,
          new Feed(
            run,
            () => this.step_came(run),
            () => void window.setTimeout(() => void this.load(id), AGAIN),
          ),
        );
      else if (before) void this.list_runs().catch(() => {});
      this.status.textContent = "";
    } catch (error) {
      const gone = error instanceof ApiError && error.status === 404;
      this.status.textContent = gone
        ? `${reason(error)}. What visitors run is remembered for a while, and not beyond the server's end: choose another run above.`
        : `${id}: ${reason(error)}`;
      return; // not tried again until another run is chosen
    } finally {
      this.loading.delete(id);
    }
    this.store.tell();
  }

  // Whoever looks at the newest step goes on looking at the newest.
  private step_came(run: Run): void {
    if (run.id === this.store.state.run && this.store.state.step === run.S - 2) this.store.set({ step: run.S - 1 });
    this.store.tell();
  }

  private show(state: State, before: State): void {
    const first = state.run === "" ? this.first_run() : undefined; // an address written by hand may name none
    if (first) return this.store.set({ run: first.id });
    if (state.run !== before.run || state.other !== before.other) this.status.textContent = "";
    for (const [view, tab] of this.tabs) {
      if (view === state.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    set_choices(
      this.chooser,
      [
        ...(this.runs.some((r) => r.id === state.run) ? [] : [{ value: state.run, label: "choose a run …" }]),
        ...run_choices(this.runs),
      ],
      state.run,
    );
    this.chooser.hidden = state.view !== "run" && state.view !== "compare";
    const shown = {
      run: this.run_view,
      compare: this.compare_view,
      live: this.live_panel,
      ask: this.ask_view,
      tables: this.tables_view,
    }[state.view].element;
    const run = state.view === "run" || state.view === "compare" ? this.need(state.run) : null;
    this.show_bars(run, state);
    if ((state.view === "run" || state.view === "compare") && !run) return;
    if (this.main.firstChild !== shown) {
      const anew = this.main.firstChild !== null,
        focus = document.activeElement,
        lost = anew && (focus === document.body || this.main.contains(focus));
      replace(this.main, shown);
      if (lost) this.main.focus({ preventScroll: true }); // or who goes by keyboard begins at the top again
      if (anew) window.scrollTo(0, 0); // another view begins at its top
    }
    if (run) this.show_run(run, state);
    else if (state.view === "live") this.live_panel.update(this.about);
    else if (state.view === "ask") this.ask_view.update(this.about);
    else this.tables_view.update();
  }

  private show_bars(run: Run | null, state: State): void {
    const two = state.view === "compare",
      runs = [run, run && two ? this.loaded.get(state.other) : null];
    this.live_bars.forEach((bar, i) => {
      const its = runs[i];
      if (its) bar.update(its, two ? `${"AB"[i]}: ` : "");
      else bar.element.hidden = true;
    });
  }

  // A link may name a step, a layer or a position that this run does not have.
  private show_run(run: Run, state: State): void {
    const fit: Partial<State> = {};
    if (state.step >= run.S) fit.step = run.S - 1;
    if (state.layer >= 0 && run.layer_index(state.layer) < 0) fit.layer = -1;
    if (state.head >= run.H) fit.head = -1;
    if (state.position >= run.N) fit.position = -1;
    if (state.target >= run.N) fit.target = -1;
    if (Object.keys(fit).length) return this.store.set(fit);
    if (this.unexplored === run.id) this.choose_strongest(run, state);
    document.title = `${run.info.title || run.id} · Buoy`;
    if (state.view === "run") this.run_view.update(run, state);
    else {
      const other = state.other || beside(run.id, this.runs);
      if (other !== state.other) return this.store.set({ other });
      this.compare_view.offer(this.runs, state);
      this.compare_view.update(run, state.other ? this.need(state.other) : null, state);
    }
    if (state.position >= 0) {
      const lift = run.lift(state.step, state.layer, state.head, state.rows, state.null, () => {});
      this.spoken.textContent =
        place(run, state.step, state.position) + (lift ? `, receives ${times(lift[state.position])} its null` : "");
    } else this.spoken.textContent = `step ${run.pass(state.step)}`;
  }

  // Panels about a token are empty until one is chosen; a first visitor should see what they are for.
  private choose_strongest(run: Run, state: State): void {
    const anchors = run.anchors(state.rows, () => this.store.tell());
    if (!anchors) return;
    this.unexplored = "";
    const here = anchors.filter((a) => a.step === state.step && (state.layer < 0 || a.layer === state.layer));
    if (state.position < 0 && here.length)
      this.store.set({ position: here.reduce((a, b) => (b.lift > a.lift ? b : a)).position });
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "?" && !(event.target as HTMLElement).closest("input, textarea, select")) return this.help.open();
    if (event.key === "Escape" && this.tour.running) return this.tour.end();
    const run = this.run(),
      view = this.store.state.view;
    if (!run || (view !== "run" && view !== "compare")) return;
    const controls = view === "run" ? this.run_view.controls : this.compare_view.controls;
    handle_key(event, this.store, run, controls, (factor) => this.run_view.zoom(factor));
  }

  private seen_tour(): boolean {
    try {
      return localStorage.getItem(SEEN) !== null;
    } catch {
      return true;
    }
  }
  private forget_tour(): void {
    try {
      localStorage.setItem(SEEN, "1");
    } catch {
      // A page opened as a file may have no storage.
    }
  }
}

// tour=off in the fragment: for links that should open on the view itself.
const asked = new URLSearchParams(location.hash.slice(1)),
  tour_allowed = asked.get("tour") !== "off" && !asked.has("step");
take_token();
// An address with a token, pasted over this one, changes the fragment alone: it is to be taken as if the page were new.
window.addEventListener("hashchange", (event) => {
  if (!new URLSearchParams(location.hash.slice(1)).has("token")) return;
  event.stopImmediatePropagation(); // or the state would take it with the old token
  location.reload();
});
void new App().start(tour_allowed);
