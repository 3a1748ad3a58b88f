// Questions over a live collection: documents added, edited and removed; answers of every model with the passage that each token was copied from.
import { About, get_json, get_text, RunSummary, send } from "./api";
import { Card } from "./card";
import { Asked, recalled } from "./asked";
import { button, field, h, replace, select, set_choices } from "./dom";
import { EXAMPLE } from "./example";
import { Feed } from "./feed";
import { reason, Run } from "./run";
import { Store } from "./state";
import { answer_length, is_weak, Support, support } from "./support";
import { region_color } from "./theme";
import { percent, plural } from "./words";

interface Document_ {
  id: string;
  title: string;
  text: string;
  version?: number;
}
export class AskView {
  readonly element: HTMLElement;
  private chooser = select("Collection", [], "", (collection) =>
    this.store.set({ collection, ask: "" }),
  );
  private name = h("input", { type: "text", "aria-label": "Name of a new collection", placeholder: "new collection" });
  private documents = h("div", { class: "documents" });
  private question = h("input", {
    type: "text",
    class: "question",
    "aria-label": "Question",
    placeholder: "Ask the collection …",
  });
  private k = h("input", { type: "number", min: 1, max: 20, value: 5, "aria-label": "Passages" });
  private note = h("p", { class: "note", role: "alert" });
  private results = h("div", { class: "stack", "aria-live": "polite" });
  private feeds: Feed[] = [];
  private about: About | null = null;
  private shown = "";
  private asked = ""; // the question whose answers are shown
  private example = button("Make an example and ask it", () => void this.make_example(), { class: "primary" });
  private log = button("Log for buoy replay", () => void this.save_log());
  private answers: { run: Run; element: HTMLElement; support: Support | null }[] = [];

  constructor(
    private store: Store,
    private open: (id: string) => void,
    private runs: () => Promise<RunSummary[]>,
  ) {
    this.question.addEventListener("keydown", (event) => event.key === "Enter" && void this.ask());
    this.element = h(
      "div",
      { class: "ask-view columns" },
      h(
        "div",
        { class: "left" },
        h(
          "section",
          { class: "card", "aria-label": "Ask" },
          h("h2", {}, "Ask"),
          h(
            "div",
            { class: "row" },
            this.question,
            field("Passages", this.k),
            button("Ask", () => void this.ask(), { class: "primary" }),
          ),
          this.note,
        ),
        this.results,
      ),
      h(
        "div",
        { class: "right" },
        h(
          "section",
          { class: "card", "aria-label": "Collection" },
          h("h2", {}, "Collection"),
          h(
            "div",
            { class: "row" },
            this.chooser,
            this.name,
            button("Create", () => void this.create()),
          ),
          this.documents,
          h(
            "div",
            { class: "row" },
            this.example,
            button("Add a document", () => this.edit(null)),
            this.log,
          ),
        ),
      ),
    );
  }

  private path(rest = ""): string {
    return `/collections/${encodeURIComponent(this.store.state.collection)}${rest}`;
  }
  private async guarded(act: () => Promise<void>): Promise<void> {
    try {
      this.note.textContent = "";
      await act();
    } catch (error) {
      this.note.textContent = reason(error);
    }
  }

  update(about: About | null): void {
    this.about = about;
    const { collection, ask } = this.store.state;
    if (collection && ask && ask !== this.asked) {
      this.asked = ask;
      void this.guarded(() => this.recall(collection, ask));
    } else if (!ask && this.asked) {
      this.asked = "";
      replace(this.results);
    }
    if (this.shown === (collection || "-")) return;
    this.shown = collection || "-";
    void this.guarded(async () => {
      const names = (await get_json<({ name: string } | string)[]>("/collections")).map((c) =>
        typeof c === "string" ? c : c.name,
      );
      set_choices(
        this.chooser,
        [{ value: "", label: "choose …" }, ...names.map((n) => ({ value: n, label: n }))],
        names.includes(collection) ? collection : "",
      );
      this.log.hidden = !names.includes(collection);
      this.example.hidden = names.includes(EXAMPLE.collection);
      if (!collection && names.length) this.store.set({ collection: names[0] });
      else await this.show_documents();
    });
  }

  private create(): Promise<void> {
    return this.guarded(async () => {
      const name = this.name.value.trim();
      if (!name) throw new Error("Name the collection.");
      await send("POST", "/collections", { name });
      this.name.value = "";
      this.shown = "";
      this.store.set({ collection: name });
    });
  }

  // One click from nothing to an answer.
  private make_example(): Promise<void> {
    return this.guarded(async () => {
      const { collection, documents, question } = EXAMPLE,
        path = `/collections/${collection}`;
      await send("POST", "/collections", { name: collection });
      for (const { id, title, text } of documents) await send("PUT", `${path}/documents/${id}`, { title, text });
      this.shown = "";
      this.question.value = question;
      this.store.set({ collection });
      await this.put_question();
    });
  }

  private async show_documents(): Promise<void> {
    if (!this.store.state.collection)
      return replace(this.documents, h("p", { class: "soft" }, "Create a collection, add documents, and ask."));
    const documents = await get_json<Document_[]>(this.path("/documents"));
    replace(
      this.documents,
      h("p", { class: "soft" }, plural(documents.length, "document", "documents")),
      ...documents.map((d) =>
        h(
          "article",
          { class: "document" },
          h("b", {}, d.title || d.id),
          h("p", {}, d.text),
          h(
            "div",
            { class: "row" },
            button("Edit", () => this.edit(d), { class: "small", "aria-label": `Edit ${d.title || d.id}` }),
            button("Remove", () => void this.remove(d.id), {
              class: "small",
              "aria-label": `Remove ${d.title || d.id}`,
            }),
          ),
        ),
      ),
    );
  }

  private edit(document_: Document_ | null): void {
    const title = h("input", {
        type: "text",
        "aria-label": "Title",
        placeholder: "title",
        value: document_?.title ?? "",
      }),
      text = h("textarea", { "aria-label": "Text", placeholder: "text", value: document_?.text ?? "" });
    const form: HTMLElement = h(
      "article",
      { class: "document editing" },
      title,
      text,
      h(
        "div",
        { class: "row" },
        button(
          "Save",
          () =>
            void this.guarded(async () => {
              const id = document_?.id ?? `doc-${Date.now().toString(36)}`;
              await send("PUT", this.path(`/documents/${encodeURIComponent(id)}`), {
                title: title.value,
                text: text.value,
              });
              await this.show_documents();
            }),
          { class: "primary" },
        ),
        button("Cancel", () => void this.guarded(() => this.show_documents())),
      ),
    );
    if (!this.store.state.collection) return void (this.note.textContent = "Create a collection first.");
    this.documents.prepend(form);
    title.focus();
  }

  private remove(id: string): Promise<void> {
    return this.guarded(async () => {
      await send("DELETE", this.path(`/documents/${encodeURIComponent(id)}`));
      await this.show_documents();
    });
  }

  private save_log(): Promise<void> {
    return this.guarded(async () => {
      const url = URL.createObjectURL(new Blob([await get_text(this.path("/log"))], { type: "application/jsonl" })),
        link = h("a", { href: url, download: `${this.store.state.collection}.jsonl` });
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(url), 10000);
    });
  }

  private ask(): Promise<void> {
    return this.guarded(() => this.put_question());
  }

  private async put_question(): Promise<void> {
    if (!this.question.value.trim()) throw new Error("Write a question.");
    if (!this.store.state.collection) throw new Error("Choose or create a collection.");
    const asked = await send<Asked>("POST", this.path("/ask"), {
      question: this.question.value,
      models: this.about?.models ?? [],
      k: Number(this.k.value) || 5,
    });
    if (!asked) return;
    this.asked = asked.id;
    this.store.set({ ask: asked.id });
    await this.show_answer(this.question.value, asked);
  }

  private async recall(collection: string, ask: string): Promise<void> {
    const found = await recalled(collection, ask, await this.runs());
    if (!found) {
      replace(this.results);
      throw new Error(`The answers to ${ask} are not remembered any more; its question is in the log.`);
    }
    this.question.value = found.question;
    await this.show_answer(found.question, found);
  }

  private async show_answer(question: string, asked: Asked): Promise<void> {
    for (const feed of this.feeds) feed.close();
    this.feeds = [];
    this.answers = [];
    const card = new Card("answers", question, () => this.table()),
      passages = h(
        "ol",
        { class: "passages" },
        ...asked.passages.map((p, i) =>
          h(
            "li",
            {},
            h("b", { class: "doc-mark" }, `Doc${i + 1}`),
            " ",
            h("b", {}, p.title),
            ` ${p.text} `,
            h("small", { class: "soft" }, p.score === undefined ? "" : `score ${p.score.toFixed(2)}`),
          ),
        ),
      );
    passages
      .querySelectorAll<HTMLElement>(".doc-mark")
      .forEach((mark, i) => (mark.style.borderBottomColor = region_color(`Doc${i + 1}`, i)));
    const answers = asked.runs.map((id) => {
      const element = h("div", { class: "given" });
      void this.follow(id, element);
      return element;
    });
    card.body.append(
      ...answers,
      h("h3", {}, asked.passages.length ? "Passages found" : "No passage was found"),
      passages,
    );
    replace(this.results, card.element);
  }

  private async follow(id: string, element: HTMLElement): Promise<void> {
    try {
      const run = await Run.load(id),
        entry = { run, element, support: null as Support | null };
      this.answers = [...this.answers.filter((a) => a.element !== element), entry];
      const draw = () => this.draw(entry);
      draw();
      if (run.info.state !== "done") this.feeds.push(new Feed(run, draw, () => void this.follow(id, element)));
    } catch (error) {
      replace(element, h("p", { class: "note" }, reason(error)));
    }
  }

  private draw(entry: { run: Run; element: HTMLElement; support: Support | null }): void {
    const { run, element } = entry,
      n = answer_length(run),
      first = run.info.prompt_length,
      names = run.info.region_names ?? [];
    const held = (name: string) =>
      run.info.state === "done" && run.has(name) ? run.array(name, () => this.draw(entry)) : null;
    const argmax = held("answer_argmax"),
      visible_keys = held("answer_visible");
    entry.support = argmax && visible_keys ? support(run, argmax, visible_keys, n) : null;
    const spans = Array.from({ length: n }, (_, i) => {
      const token = run.info.tokens[first + i],
        open = token === run.mask_id() || token < 0,
        from = entry.support?.region[i] ?? -1;
      const span = h(
        "span",
        {
          class: "drawn",
          title:
            from >= 0
              ? `copied from ${names[from]}`
              : open
                ? "not written yet"
                : "copied from no passage more than by chance",
        },
        open ? "▢" : run.piece(token),
      );
      if (from >= 0) {
        span.style.borderBottomColor = region_color(names[from], from);
        span.append(h("sub", {}, names[from].replace(/^Doc/, "")));
      }
      return span;
    });
    const s = entry.support,
      weak = s !== null && is_weak(s),
      copied = s
        ? `${percent(s.share)} of layers and heads copied its words from the passages, by chance ${percent(s.chance)}`
        : "",
      verdict = weak ? `weak support: ${copied}` : copied;
    replace(
      element,
      h("h3", {}, run.info.model, " ", h("small", { class: "soft" }, run.info.state === "done" ? "" : run.info.state)),
      h("p", { class: "said" }, ...spans, n === 0 ? "(nothing)" : ""),
      h(
        "p",
        { class: weak ? "bad" : "soft" },
        verdict,
        " ",
        button("Open the run", () => this.open(run.id), { class: "small" }),
      ),
    );
    element.classList.toggle("weak", weak);
  }

  private table() {
    const rows = this.answers.flatMap(({ run, support: s }) =>
      Array.from({ length: answer_length(run) }, (_, i) => {
        const from = s?.region[i] ?? -1;
        return [
          run.info.model,
          i,
          run.piece(run.info.tokens[run.info.prompt_length + i]),
          from >= 0 ? (run.info.region_names ?? [])[from] : "",
          s ? s.share : null,
          s ? s.chance : null,
        ];
      }),
    );
    return { columns: ["model", "index", "text", "copied_from", "share", "chance"], rows };
  }
}
