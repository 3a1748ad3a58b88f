// Follows a run that is being computed: steps into its Run as they come, state changes to whoever asked.
import { events, run_path, RunState } from "./api";
import { Run, StepEvent } from "./run";

const ANCHORS_EVERY = 400; // milliseconds; anchors of all steps are found anew each time

export class Feed {
  private source: EventSource | null;
  private anchor_timer = 0;
  private is_loaded_again = false;

  // `changed` after every step; `again` where the run has to be loaded anew.
  constructor(
    readonly run: Run,
    private changed: () => void,
    private again: () => void,
  ) {
    this.source = events(run_path(run.id) + "/events");
    this.source?.addEventListener("step", (event) =>
      this.step(JSON.parse((event as MessageEvent<string>).data) as StepEvent),
    );
    this.source?.addEventListener("state", (event) =>
      this.state((JSON.parse((event as MessageEvent<string>).data) as { state: RunState }).state),
    );
    this.source?.addEventListener("open", () => this.hears(true));
    // Without data it is the connection that failed, and the browser tries again by itself.
    this.source?.addEventListener("error", (event) => {
      const data = (event as MessageEvent<string>).data;
      if (!data) return this.hears(false);
      this.run.info.error = (JSON.parse(data) as { error?: string }).error ?? "";
      this.state("failed");
    });
  }

  private hears(yes: boolean): void {
    if (this.run.is_lost === !yes) return;
    this.run.is_lost = !yes;
    this.changed();
  }

  private step(event: StepEvent): void {
    if (this.run.tokens && event.step < this.run.tokens.shape[0] - 1) return; // already there
    if (!this.run.apply(event)) return this.stop_and(this.again);
    this.changed();
    // Before the first step there were no layers and no arrays to load: steps are shown while these are.
    if (!this.run.received_name("all", -1)) {
      if (!this.is_loaded_again) this.again();
      this.is_loaded_again = true;
      return;
    }
    void this.run.fetch_step(event.step, this.changed);
    if (!this.anchor_timer) {
      this.anchor_timer = window.setTimeout(() => {
        this.anchor_timer = 0;
        this.run.forget_anchors();
        this.changed();
      }, ANCHORS_EVERY);
    }
  }

  private state(state: RunState): void {
    const before = this.run.info.state;
    this.run.info.state = state;
    if (state === "done" || state === "failed") {
      if (before !== state) this.stop_and(this.again);
      else this.close();
    } else this.changed();
  }

  private stop_and(then: () => void): void {
    this.close();
    then();
  }

  close(): void {
    this.source?.close();
    this.source = null;
    window.clearTimeout(this.anchor_timer);
  }
}
