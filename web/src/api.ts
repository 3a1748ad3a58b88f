// Speaks to the server, or to window.BUOY_DATA where the page is one file. Knows nothing of views.
import { Array_, read_npy } from "./npy";
import { write_address } from "./state";

declare global {
  interface Window {
    BUOY_DATA?: Record<string, string>;
    DecompressionStream: new (format: string) => ReadableWritablePair<Uint8Array, Uint8Array>;
  }
}

export interface About {
  version: string;
  commit: string;
  models: string[];
  limits: Record<string, number>;
  live: boolean;
  traces: boolean;
  collections?: boolean;
  tables?: boolean;
}
export type RunState = "done" | "running" | "stopped" | "waiting" | "failed";
export interface RunSummary {
  id: string;
  model: string;
  title: string;
  state: RunState;
  steps: number;
  parent: string | null;
  fork_step: number | null;
  sample?: string | null;
  mask?: string;
  ask?: string | null; // collection/question
}
export interface ArrayInfo {
  name: string;
  shape: number[];
  dtype: string;
  what: string;
}
export interface RunInfo {
  id: string;
  model: string;
  family: string;
  state: RunState;
  title: string;
  question?: string;
  prompt_length: number;
  tokens: number[];
  pieces: string[];
  regions: string[];
  region_names?: string[];
  region_kinds?: string[];
  classes: string[];
  steps: number;
  step_numbers: number[];
  step_lengths?: number[]; // [steps]: positions that exist before each step
  layers: number[];
  mixers: string[]; // of each: attention, or ssd
  heads: number;
  mask: string;
  mask_id?: number | null;
  commit_step: number[];
  confidence: number[];
  sampler: Record<string, unknown>;
  arrays: ArrayInfo[];
  answer: string;
  gold: string[] | null;
  parent: string | null;
  fork_step: number | null;
  changes?: Change[] | null;
  pins?: { layer: number; step: number; positions: number[]; pressed: number; unsettled: number }[];
  has_guesses?: boolean;
  can_recompute: boolean;
  error?: string;
  steps_left?: number | null;
}
// What was done to a fork at its step.
export interface Change {
  step?: number;
  hide_keys?: number[];
  cut_heads?: number[][];
  pin_anchors?: number[]; // layers
  force?: { position: number; token?: number; text?: string }[];
  remask?: number[];
}
export interface Anchor {
  step: number;
  layer: number;
  position: number;
  token: string | number;
  lift: number;
  class: string;
  region: string;
}
export interface Candidate {
  token: number;
  piece: string;
  probability: number;
}
export interface Passage {
  id?: string;
  title: string;
  text: string;
  score?: number;
  version?: number;
}

const PREFIX = "/api/v1";
let token = "";

// The token comes in the fragment, which no server and no log ever sees, and does not stay there.
export function take_token(): void {
  const parts = new URLSearchParams(location.hash.slice(1)),
    given = parts.get("token");
  if (given) store("buoy-token", given);
  parts.delete("token");
  parts.delete("tour");
  if (location.hash.length > 1) write_address("replaceState", "#" + parts.toString());
  token = given ?? stored("buoy-token") ?? "";
}

// A page opened as a file may have no storage.
export function stored(key: string): string | null {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}
export function store(key: string, value: string): void {
  try {
    sessionStorage.setItem(key, value);
  } catch {
    // The page then forgets.
  }
}

export function one_file(): boolean {
  return window.BUOY_DATA !== undefined;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function embedded(path: string): Promise<ArrayBuffer> {
  const held = window.BUOY_DATA?.[PREFIX + path];
  if (held === undefined) throw new ApiError(409, "not in this file: needs a server (buoy view TRACE)");
  const packed = held.startsWith("gz:");
  const text = atob(packed ? held.slice(3) : held),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  if (!packed) return bytes.buffer;
  return new Response(new Blob([bytes]).stream().pipeThrough(new window.DecompressionStream("gzip"))).arrayBuffer();
}

async function ask(method: string, path: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = token ? { "X-Buoy-Token": token } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let reply: Response;
  try {
    reply = await fetch(PREFIX + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    throw new ApiError(0, "the server does not answer: is buoy still running?");
  }
  if (reply.ok) return reply;
  let message = `${reply.status} ${reply.statusText}`;
  try {
    message = ((await reply.json()) as { error: string }).error;
  } catch {
    // Not JSON: the status line has to do.
  }
  throw new ApiError(reply.status, message);
}

export async function get_json<T>(path: string): Promise<T> {
  if (one_file()) return JSON.parse(new TextDecoder().decode(await embedded(path))) as T;
  return (await (await ask("GET", path)).json()) as T;
}

export async function get_text(path: string): Promise<string> {
  if (one_file()) return new TextDecoder().decode(await embedded(path));
  return (await ask("GET", path)).text();
}

export async function get_array(path: string): Promise<Array_> {
  return read_npy(one_file() ? await embedded(path) : await (await ask("GET", path)).arrayBuffer());
}

export async function send<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T | null> {
  if (one_file()) throw new ApiError(409, "needs a server (buoy serve)");
  const text = await (await ask(method, path, body)).text();
  return text ? (JSON.parse(text) as T) : null;
}

export function events(path: string): EventSource | null {
  if (one_file()) return null;
  return new EventSource(`${PREFIX}${path}${token ? `?token=${encodeURIComponent(token)}` : ""}`);
}

export const run_path = (id: string) => `/runs/${encodeURIComponent(id)}`;
