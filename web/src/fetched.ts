// What was fetched of a run's arrays: each asked for once, again where a step is missing, and grown step by step while the run goes on.
import { get_array } from "./api";
import { Array_ } from "./npy";

// How often, and after how many milliseconds, an array is asked for again that a step was missing from.
const TRIES = 20,
  AGAIN = 200;
const GROWS = /^\/arrays\/received[^?]*$/;

export class Fetched {
  private asked = new Map<string, Promise<Array_ | null>>();
  private ready = new Map<string, Array_ | null>();
  private tried = new Map<string, { rows: number; times: number; waiting: boolean }>();

  // `address`: of a path of the run's.
  constructor(private address: (path: string) => string) {}

  private fetch = (path: string) => get_array(this.address(path));

  // An array that is there already; starts to fetch it otherwise and calls `then` when it has come. `instead`: the path that is
  // asked where this one is not to be had.
  get(path: string, then: () => void, instead?: string): Array_ | null {
    if (this.ready.has(path)) return this.ready.get(path) ?? null;
    let request = this.asked.get(path);
    if (!request) {
      request = this.fetch(path)
        .catch(() => (instead ? this.fetch(instead) : null))
        .catch(() => null)
        .then((array) => {
          this.ready.set(path, array);
          return array;
        });
      this.asked.set(path, request);
    }
    void request.then(then); // whoever wants it while it is on its way is told too
    return null;
  }

  // An array that was asked for before a step had come, and has so many, is asked for again, some times.
  longer(path: string, rows: number, then: () => void): void {
    const tried = this.tried.get(path) ?? { rows, times: 0, waiting: false };
    if (tried.rows !== rows) Object.assign(tried, { rows, times: 0 });
    if (tried.waiting || ++tried.times > TRIES) return;
    tried.waiting = true;
    this.tried.set(path, tried);
    window.setTimeout(() => {
      void this.fetch(path)
        .catch(() => null)
        .then((got) => {
          tried.waiting = false;
          if (got && got.shape[0] > (this.ready.get(path)?.shape[0] ?? 0)) this.ready.set(path, got);
          then();
        });
    }, AGAIN);
  }

  // Fetches the newest step of every array that has steps and is looked at, and appends it.
  async grow(step: number, then: () => void): Promise<void> {
    const grown = Array.from(this.ready).filter(([path, array]) => array && GROWS.test(path));
    await Promise.all(
      grown.map(async ([path]) => {
        const part = await this.fetch(`${path}?step=${step}`).catch(() => null),
          so_far = this.ready.get(path); // another step may have come since
        // What does not follow on the last is fetched whole when it is looked at.
        if (!part || !so_far || part.shape[0] !== 1 || so_far.shape[0] !== step) return;
        const data = new Float32Array(so_far.data.length + part.data.length);
        data.set(so_far.data as Float32Array);
        data.set(part.data as Float32Array, so_far.data.length);
        this.ready.set(path, { shape: [step + 1, ...so_far.shape.slice(1)], data });
      }),
    );
    // What was not there yet when it was first asked for may be there now.
    for (const [path, array] of Array.from(this.ready)) {
      if (array) continue;
      this.ready.delete(path);
      this.asked.delete(path);
    }
    then();
  }
}
