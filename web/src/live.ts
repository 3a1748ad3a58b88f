// Starts runs: a prompt, or a question with passages; one model, or several side by side. And the bar of a run that goes on.
import { About, Passage, run_path, send } from "./api";
import { button, field, h, replace, select } from "./dom";
import { EXAMPLE } from "./example";
import { reason, Run } from "./run";

interface Setting {
  name: string;
  label: string;
  value: string;
  why: string;
  choices?: string[]; // words instead of a number
}
// Left empty, the server's own default holds.
const SETTINGS: Setting[] = [
  { name: "gen_length", label: "Tokens", value: "32", why: "tokens to generate" },
  { name: "steps", label: "Steps", value: "16", why: "denoising steps; not for autoregressive models" },
  { name: "block_length", label: "Block", value: "", why: "block length; empty: one block" },
  { name: "temperature", label: "Temperature", value: "0", why: "0: the most probable token" },
  { name: "seed", label: "Seed", value: "", why: "names the random draws, where there are any" },
];
// What not every model knows: docs/sampling.md. What means nothing to a model is left out by the server.
const MORE: Setting[] = [
  {
    name: "remasking",
    label: "Which masks first",
    value: "",
    why: "LLaDA and its kin, SDAR: the surest, any, or from left to right",
    choices: ["low_confidence", "random", "sequential"],
  },
  {
    name: "alg",
    label: "Dream's order",
    value: "",
    why: "Dream and its kin: any, or by confidence, margin or entropy",
    choices: ["origin", "maskgit_plus", "topk_margin", "entropy"],
  },
  { name: "threshold", label: "Threshold", value: "", why: "all masks that are surer than this are written at once" },
  { name: "cfg_scale", label: "Guidance", value: "", why: "LLaDA: how far from what it would write without the prompt" },
  { name: "top_p", label: "Top p", value: "", why: "where it draws: the most probable tokens up to this sum" },
  { name: "top_k", label: "Top k", value: "", why: "where it draws: so many of the most probable tokens" },
];

function input_of({ label, value, why, choices }: Setting): HTMLInputElement | HTMLSelectElement {
  if (!choices) return h("input", { type: "number", value, title: why, step: "any", min: 0, "aria-label": label });
  const options = [{ value: "", label: "as the model has it" }, ...choices.map((c) => ({ value: c, label: c }))],
    element = select(label, options, "", () => {});
  element.title = why;
  return element;
}

export class LivePanel {
  readonly element: HTMLElement;
  private models = h("div", { class: "row", role: "group", "aria-label": "Models" });
  private prompt = h("textarea", { "aria-label": "Prompt", placeholder: "The town of …" });
  private question = h("input", { type: "text", "aria-label": "Question", placeholder: "Who …?" });
  private passages = h("div", { class: "stack passages" });
  private inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private chat = select(
    "Chat template",
    [
      { value: "", label: "as the model has it" },
      { value: "on", label: "on" },
      { value: "off", label: "off" },
    ],
    "",
    () => {},
  );
  private note = h("p", { class: "note", role: "alert" });
  private by_question = h("div", { hidden: true });
  private by_prompt = h("div", {});
  private go: HTMLButtonElement;
  private asks = false;
  private modes: HTMLInputElement[] = [];

  constructor(private opened: (ids: string[]) => void) {
    const mode = (label: string, asks: boolean) => {
      const radio = h("input", { type: "radio", name: "mode", onchange: () => this.set_mode(asks) });
      radio.checked = !asks;
      this.modes.push(radio);
      return h("label", { class: "check" }, radio, label);
    };
    for (const s of [...SETTINGS, ...MORE]) this.inputs.set(s.name, input_of(s));
    this.go = button("Run", () => void this.start(), { class: "primary" });
    this.by_prompt.append(field("Prompt", this.prompt));
    this.by_question.append(
      field("Question", this.question),
      this.passages,
      button("Add a passage", () => this.add_passage()),
    );
    this.element = h(
      "div",
      { class: "live-view" },
      h(
        "section",
        { class: "card", "aria-label": "A new run" },
        h("h2", {}, "Watch a run as it is computed"),
        h(
          "div",
          { class: "row", role: "radiogroup", "aria-label": "What is asked" },
          mode("a prompt", false),
          mode("a question with passages", true),
          button("Fill in an example", () => this.fill_example()),
        ),
        this.by_prompt,
        this.by_question,
        h("h3", {}, "Model"),
        h("p", { class: "soft" }, "Two models: both runs stand side by side."),
        this.models,
        h("h3", {}, "Sampler"),
        h(
          "div",
          { class: "row sampler" },
          ...SETTINGS.map((s) => field(s.label, this.inputs.get(s.name) as HTMLElement)),
          field("Chat template", this.chat),
        ),
        h(
          "details",
          { class: "more" },
          h("summary", {}, "More of the sampler"),
          h("div", { class: "row sampler" }, ...MORE.map((s) => field(s.label, this.inputs.get(s.name) as HTMLElement))),
          h("p", { class: "soft" }, "Left empty, the model's own default holds. What a model does not know is left out."),
        ),
        h("div", { class: "row" }, this.go),
        this.note,
      ),
    );
    this.add_passage();
  }

  private set_mode(asks: boolean): void {
    this.asks = asks;
    this.by_question.hidden = !asks;
    this.by_prompt.hidden = asks;
  }

  private fill_example(): void {
    this.modes[1].checked = true;
    this.set_mode(true);
    this.question.value = EXAMPLE.question;
    this.passages.replaceChildren();
    EXAMPLE.documents.slice(0, 3).forEach(({ text }) => this.add_passage({ title: "", text }));
  }

  private add_passage(passage: Passage = { title: "", text: "" }): void {
    const box: HTMLElement = h(
      "div",
      { class: "passage" },
      h(
        "div",
        { class: "row" },
        h("input", {
          type: "text",
          class: "title",
          placeholder: "title",
          "aria-label": "Passage title",
          value: passage.title,
        }),
        button("Remove", () => box.remove(), { class: "small" }),
      ),
      h("textarea", { placeholder: "text", "aria-label": "Passage text", value: passage.text }),
    );
    this.passages.append(box);
  }

  update(about: About | null): void {
    const names = about?.models ?? [];
    this.go.disabled = !about?.live || !names.length;
    if (!about?.live) this.note.textContent = "Runs need a model: start buoy serve.";
    if (this.models.childElementCount === names.length) return;
    replace(
      this.models,
      ...names.map((name, i) => {
        const box = h("input", { type: "checkbox", value: name });
        box.checked = i === 0;
        return h("label", { class: "check" }, box, name);
      }),
    );
  }

  private body(model: string): Record<string, unknown> {
    const sampler: Record<string, number | string> = {};
    for (const [name, input] of this.inputs) {
      if (input.value !== "") sampler[name] = input instanceof HTMLSelectElement ? input.value : Number(input.value);
    }
    const common = { model, sampler, ...(this.chat.value ? { chat: this.chat.value === "on" } : {}) };
    if (!this.asks) return { ...common, prompt: this.prompt.value };
    const passages = Array.from(this.passages.querySelectorAll(".passage"), (box) => ({
      title: (box.querySelector("input") as HTMLInputElement).value,
      text: (box.querySelector("textarea") as HTMLTextAreaElement).value,
    }));
    return { ...common, question: this.question.value, passages: passages.filter((p) => p.text.trim() !== "") };
  }

  private async start(): Promise<void> {
    const models = Array.from(this.models.querySelectorAll("input"), (box) => (box.checked ? box.value : "")).filter(
      Boolean,
    );
    if (!models.length) return void (this.note.textContent = "Choose a model.");
    if ((this.asks ? this.question.value : this.prompt.value).trim() === "")
      return void (this.note.textContent = this.asks ? "Write a question." : "Write a prompt.");
    this.note.textContent = "";
    this.go.disabled = true;
    try {
      const ids: string[] = [];
      for (const model of models) ids.push((await send<{ id: string }>("POST", "/runs", this.body(model)))?.id ?? "");
      this.opened(ids);
    } catch (error) {
      this.note.textContent = reason(error);
    } finally {
      this.go.disabled = false;
    }
  }
}

// Stop, step, go on, and how many steps are left.
export class LiveBar {
  readonly element = h("div", {
    class: "live-bar",
    role: "toolbar",
    "aria-label": "The run that goes on",
    hidden: true,
  });
  private run: Run | null = null;
  private words = h("b", {});
  private left = h("input", {
    type: "number",
    min: 1,
    max: 4096,
    "aria-label": "Steps left",
    placeholder: "steps left",
  });
  private stop = button("Stop", () => void this.order("stop"));
  private one = button("One step", () => void this.order("go", { steps: 1 }));
  private go = button("Go on", () => void this.order("go", { steps: null }));
  private note = h("span", { class: "soft", role: "status" });

  constructor() {
    this.element.append(
      this.words,
      this.stop,
      this.one,
      this.go,
      this.left,
      button("Set", () => void this.set_left()),
      this.note,
    );
  }

  // `name`: which of two it is.
  update(run: Run, name: string): void {
    this.run = run;
    const state = run.info.state;
    this.element.hidden = state === "done";
    this.words.textContent =
      name +
      {
        running: "Running",
        stopped: "Stopped",
        waiting: "Waiting for its turn",
        failed: `Failed: ${run.info.error ?? "no reason given"}`,
        done: "",
      }[state] +
      ` · ${run.tokens ? run.tokens.shape[0] - 1 : 0} steps so far` +
      (run.is_lost ? " · the server does not answer: is buoy still running?" : "");
    this.stop.disabled = state !== "running" && state !== "waiting";
    this.one.disabled = this.go.disabled = state !== "stopped";
  }

  private async order(what: string, body: unknown = {}): Promise<void> {
    await this.tell(() => send("POST", `${run_path(this.run?.id ?? "")}/${what}`, body));
  }
  private async set_left(): Promise<void> {
    const steps_left = Number(this.left.value);
    if (!(steps_left >= 1)) return void (this.note.textContent = "Write how many steps are left.");
    await this.tell(() => send("PATCH", run_path(this.run?.id ?? ""), { steps_left }), `${steps_left} steps left`);
  }
  private async tell(act: () => Promise<unknown>, done = ""): Promise<void> {
    try {
      await act();
      this.note.textContent = done;
    } catch (error) {
      this.note.textContent = reason(error);
    }
  }
}
