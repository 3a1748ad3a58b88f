// Starts the page: header, views, keyboard; loads the runs that the state names.
import { About, events, get_json, one_file, RunSummary, stored, store as remember, take_token } from "./api";
import { button, h, replace, select, set_choices } from "./dom";
import { Help } from "./help";
import { reason, Run } from "./run";
import { RunView } from "./run_view";
import { Store, View } from "./state";
import { add_level_classes } from "./text_view";
import { on_theme } from "./theme";

take_token();
const store = new Store();
const app = document.getElementById("app") as HTMLElement;
void events;
void stored;
void remember;
void one_file;

class App {
  private about: About | null = null;
  private runs: RunSummary[] = [];
  private loaded = new Map<string, Run>();
  private chooser = select("Run", [], "", (id) => store.set({ run: id, step: 0, position: -1, target: -1 }));
  private main = h("main", { id: "main" });
  private status = h("p", { class: "status", role: "status", "aria-live": "polite" });
  private run_view = new RunView(store, () => this.about?.live ?? false, () => {});
  private help = new Help();

  async start(): Promise<void> {
    add_level_classes();
    on_theme(() => {
      add_level_classes();
      this.run_view.repaint();
    });
    replace(app, h("header", { class: "top" }, h("b", { class: "brand" }, "Buoy"), this.chooser, button("?", () => this.help.open(), { "aria-label": "Help" })), this.status, this.main);
    store.on(() => this.show());
    try {
      this.about = await get_json<About>("/about");
      this.runs = await get_json<RunSummary[]>("/runs");
    } catch (error) {
      this.status.textContent = reason(error);
    }
    if (!store.state.run && this.runs.length) store.set({ run: this.runs[0].id });
    this.show();
  }

  private show(): void {
    const view: View = store.state.view;
    void view;
    set_choices(this.chooser, this.runs.map((r) => ({ value: r.id, label: `${r.title || r.id} — ${r.model}` })), store.state.run);
    const run = this.loaded.get(store.state.run);
    if (!run) {
      if (store.state.run) void this.load(store.state.run);
      return;
    }
    if (!this.main.contains(this.run_view.element)) replace(this.main, this.run_view.element);
    if (store.state.step >= run.S) store.set({ step: run.S - 1 });
    this.run_view.update(run, store.state);
  }

  private async load(id: string): Promise<void> {
    try {
      this.loaded.set(id, await Run.load(id));
      store.tell();
    } catch (error) {
      this.status.textContent = `${id}: ${reason(error)}`;
    }
  }
}

void new App().start();
