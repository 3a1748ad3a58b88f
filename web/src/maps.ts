// What the two maps of a run show: attention over all positions, and how the answer is written.
import { Band, MapSource } from "./cell_map";
import { Run } from "./run";
import { State } from "./state";
import { color, color_number, hex, ink_on, level_color, level_of, LEVELS, region_color } from "./theme";
import { brief, percent, times, visible } from "./words";

export function bands_of(run: Run, first = 0): Band[] {
  const names = run.info.region_names ?? Array.from(new Set(run.info.regions)),
    out: Band[] = [];
  for (let i = first; i < run.N; ++i) {
    const name = run.info.regions[i],
      last = out[out.length - 1];
    if (last && last.name === name) last.end = i + 1;
    else out.push({ begin: i, end: i + 1, name, color: region_color(name, names.indexOf(name)) });
  }
  return out;
}

export type Anchored = (step: number) => number[];

export function place(run: Run, step: number, position: number): string {
  const state = run.writing(step, position),
    region = run.info.regions[position] ?? "";
  if (state === "absent") return `position ${position}, not there yet at step ${run.pass(step)}`;
  const guess = run.guess(step, position);
  const what =
    state === "mask"
      ? guess >= 0
        ? `mask, best guess “${visible(run.piece(guess))}”`
        : "mask"
      : `“${visible(run.piece(run.token_at(state === "new" ? step + 1 : step, position)))}”`;
  return `step ${run.pass(step)}, position ${position}: ${what}${state === "new" ? ", written now" : ""}${region ? `, ${region}` : ""}`;
}

// Over a group of positions the largest lift is shown: an anchor among thousands stays visible.
export function attention_source(run: Run, state: State, anchored: Anchored, then: () => void): MapSource {
  const palette = Array.from({ length: LEVELS }, (_, i) => level_color(i));
  const lift = (step: number) => run.lift(step, state.layer, state.head, state.rows, state.null, then);
  return {
    first: 0,
    end: run.N,
    steps: run.S,
    pass: (step) => run.pass(step),
    bands: bands_of(run),
    outlined: anchored,
    row(step, position, count, group, out) {
      const values = lift(step),
        length = run.length_at(step);
      for (let i = 0; i < count; ++i) {
        const begin = position + i * group,
          end = Math.min(begin + group, length);
        if (!values || begin >= length) {
          out[i] = -1;
          continue;
        }
        let most = values[begin];
        for (let p = begin + 1; p < end; ++p) if (values[p] > most) most = values[p];
        out[i] = Number.isNaN(most) ? -1 : palette[level_of(most)];
      }
    },
    say(step, position) {
      const values = lift(step);
      return (
        place(run, step, position) +
        (values ? `\nreceives ${times(values[position])} ${state.null === "none" ? "1/N" : "its null"}` : "")
      );
    },
  };
}

// Guesses apart from commitments: a guess is pale and slanted, what is written now is filled, what was written is plain.
export function writing_source(run: Run, state: State, anchored: Anchored): MapSource {
  const first = run.info.prompt_length,
    fresh = color_number("s0"),
    old = color_number("shade"),
    paper = color_number("paper");
  const guess_color = color_number("s4");
  const blend = (t: number) => {
    let out = 0;
    for (const shift of [16, 8, 0])
      out |= Math.round(((paper >> shift) & 255) * (1 - t) + ((guess_color >> shift) & 255) * t) << shift;
    return out;
  };
  const confidence = (step: number, p: number) =>
    run.guess_confidence && step < run.guess_confidence.shape[0] ? run.guess_confidence.data[step * run.N + p] : NaN;
  const paint = (step: number, p: number) => {
    const writing = run.writing(step, p);
    if (writing === "new") return fresh;
    if (writing === "old" || writing === "prompt") return old;
    if (writing === "absent") return -1;
    const sure = confidence(step, p);
    return run.guess(step, p) >= 0 ? blend(0.08 + 0.5 * (Number.isFinite(sure) ? sure : 0.2)) : paper;
  };
  return {
    first,
    end: run.N,
    steps: run.S,
    pass: (step) => run.pass(step),
    bands: bands_of(run, first),
    outlined: (step) => anchored(step).filter((p) => p >= first),
    row(step, position, count, group, out) {
      for (let i = 0; i < count; ++i) {
        let best = paint(step, position + i * group);
        for (let p = position + i * group + 1; p < Math.min(position + (i + 1) * group, run.N) && best !== fresh; ++p) {
          const at = paint(step, p);
          if (at === fresh) best = at;
        }
        out[i] = best;
      }
    },
    label(step, position) {
      const writing = run.writing(step, position),
        text = (id: number) => brief(run.piece(id));
      if (writing === "new")
        return { text: text(run.token_at(step + 1, position)), ink: hex(ink_on(fresh)), italic: false };
      if (writing === "old") return { text: text(run.token_at(step, position)), ink: color("ink"), italic: false };
      const guess = run.guess(step, position);
      return writing === "mask" && guess >= 0 ? { text: text(guess), ink: color("ink"), italic: true } : null;
    },
    say(step, position) {
      const sure = confidence(step, position),
        final = run.info.confidence[position - first];
      const words = Number.isFinite(sure)
        ? `\nguess: ${percent(sure)} sure`
        : run.writing(step, position) === "new" && Number.isFinite(final)
          ? `\n${percent(final)} sure`
          : "";
      return place(run, step, position) + words;
    },
  };
}
