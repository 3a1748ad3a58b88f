// Where attention flows between regions, at the state's step and layer.
import { get_json, run_path } from "./api";
import { Card, Table } from "./card";
import { h, replace } from "./dom";
import { flow_chart, FlowData } from "./flow_chart";
import { reason, Run } from "./run";
import { State, Store } from "./state";
import { region_color } from "./theme";
import { layer_name } from "./words";

const REST = 60; // milliseconds that the state must rest before the server is asked

export class FlowPanel {
  readonly card = new Card("flow", "Regions: where attention flows", () => this.table());
  private run: Run | null = null;
  private held = new Map<string, FlowData | Error>();
  private timer = 0;

  constructor(private store: Store) {}

  // Without a layer, the last one's: a mean over layers would be of no layer.
  private layer(run: Run, state: State): number {
    return state.layer >= 0 ? state.layer : run.info.layers[run.L - 1];
  }
  private path(run: Run, state: State): string {
    return `${run_path(run.id)}/flow?step=${state.step}&layer=${this.layer(run, state)}`;
  }

  update(run: Run, state: State): void {
    this.run = run;
    if (!run.has("flow")) return this.card.clear("Flow between regions was not recorded.");
    const path = this.path(run, state),
      flow = this.held.get(path);
    if (!flow) {
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.ask(run, path), REST);
      return;
    }
    if (flow instanceof Error) return this.card.clear(flow.message);
    this.card.say("");
    const names = run.info.region_names ?? flow.regions;
    const where = `Step ${run.pass(state.step)}, ${layer_name(this.layer(run, state))}${state.layer < 0 ? " (the last)" : ""}.`;
    const how =
      "A ribbon's width is the share of the left region's attention; on the right, the mean share each region gets.";
    const paint = (i: number) => region_color(flow.regions[i], names.indexOf(flow.regions[i]));
    replace(
      this.card.body,
      h("p", { class: "soft" }, `${where} ${how}`),
      flow_chart(flow, paint, "Attention between regions"),
    );
  }

  private async ask(run: Run, path: string): Promise<void> {
    const got = await get_json<FlowData>(path).catch((error) => new Error(reason(error)));
    if (this.held.size > 400) this.held.clear();
    this.held.set(path, got);
    if (this.run === run) this.update(run, this.store.state);
  }

  private table(): Table {
    const flow = this.run ? this.held.get(this.path(this.run, this.store.state)) : undefined;
    const columns = ["from", "into", "share"];
    if (!flow || flow instanceof Error) return { columns, rows: [] };
    return {
      columns,
      rows: flow.matrix.flatMap((row, i) => row.map((v, j) => [flow.regions[i], flow.regions[j], v])),
    };
  }
}
