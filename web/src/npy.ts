// Reads NumPy's .npy: float32, float16, float64, int32, int64, uint8, little endian, C order.

export interface Array_ {
  shape: number[];
  data: Float32Array | Int32Array;
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1,
    exponent = (bits >> 10) & 31,
    fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

let halves: Float32Array | null = null;
function widen(from: Uint16Array): Float32Array {
  if (!halves) halves = Float32Array.from({ length: 65536 }, (_, bits) => half(bits));
  const table = halves;
  return Float32Array.from(from, (bits) => table[bits]);
}

export function read_npy(buffer: ArrayBuffer): Array_ {
  const bytes = new Uint8Array(buffer),
    view = new DataView(buffer);
  if (buffer.byteLength < 12 || bytes[0] !== 0x93 || String.fromCharCode(...bytes.slice(1, 6)) !== "NUMPY")
    throw new Error("not a .npy array");
  const long = bytes[6] > 1;
  const begin = long ? 12 : 10,
    length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(bytes.subarray(begin, begin + length));
  const descr = /'descr':\s*'([^']+)'/.exec(header),
    dims = /'shape':\s*\(([^)]*)\)/.exec(header);
  if (!descr || !dims || /'fortran_order':\s*True/.test(header))
    throw new Error("unexpected .npy header: " + header.trim());
  const shape = dims[1]
    .split(",")
    .map((d) => d.trim())
    .filter((d) => d)
    .map(Number);
  const count = shape.reduce((a, b) => a * b, 1),
    body = buffer.slice(begin + length);
  const need = (size: number) => {
    if (body.byteLength < count * size)
      throw new Error(`.npy is cut short: ${body.byteLength} bytes, expected ${count * size}`);
  };
  switch (descr[1]) {
    case "<f4":
      need(4);
      return { shape, data: new Float32Array(body, 0, count) };
    case "<f2":
      need(2);
      return { shape, data: widen(new Uint16Array(body, 0, count)) };
    case "<f8":
      need(8);
      return { shape, data: Float32Array.from(new Float64Array(body, 0, count)) };
    case "<i4":
      need(4);
      return { shape, data: new Int32Array(body, 0, count) };
    case "<i8":
      need(8);
      return { shape, data: Int32Array.from(new BigInt64Array(body, 0, count), Number) };
    case "|u1":
      need(1);
      return { shape, data: Int32Array.from(new Uint8Array(body, 0, count)) };
  }
  throw new Error(`.npy holds ${descr[1]}, expected <f4, <f2, <f8, <i4, <i8 or |u1`);
}
