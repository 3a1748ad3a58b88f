// .npy both ways and .npz reading, as much as the mock server needs.
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

const TYPES = { "<f4": Float32Array, "<f8": Float64Array, "<i4": Int32Array, "<i8": BigInt64Array };

export function write_npy(shape, data) {
  const descr = data instanceof Float32Array ? "<f4" : "<i4";
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + "\n";
  const head = Buffer.alloc(10);
  head.write("\x93NUMPY\x01\x00", "latin1");
  head.writeUInt16LE(header.length, 8);
  return Buffer.concat([
    head,
    Buffer.from(header, "latin1"),
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  ]);
}

function read_npy(bytes) {
  const begin = bytes[6] > 1 ? 12 : 10,
    length = bytes[6] > 1 ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", begin, begin + length);
  const descr = /'descr': *'([^']+)'/.exec(header)[1],
    shape = /'shape': *\(([^)]*)\)/
      .exec(header)[1]
      .split(",")
      .map((d) => d.trim())
      .filter(Boolean)
      .map(Number);
  const body = Uint8Array.prototype.slice.call(bytes, begin + length).buffer,
    count = shape.reduce((a, b) => a * b, 1);
  if (descr.startsWith("<U")) {
    const width = Number(descr.slice(2)),
      codes = new Uint32Array(body);
    return {
      shape,
      data: Array.from({ length: count }, (_, i) =>
        String.fromCodePoint(...codes.subarray(i * width, (i + 1) * width)).replace(/\0+$/, ""),
      ),
    };
  }
  const data = new TYPES[descr](body, 0, count);
  if (descr === "<i8") return { shape, data: Int32Array.from(data, Number) };
  return { shape, data: descr === "<f8" ? Float32Array.from(data) : data };
}

export function read_npz(file) {
  const bytes = readFileSync(file),
    out = {};
  let at = bytes.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  let entries = bytes.readUInt16LE(at + 10);
  for (at = bytes.readUInt32LE(at + 16); entries > 0; --entries) {
    const method = bytes.readUInt16LE(at + 10),
      packed = bytes.readUInt32LE(at + 20),
      name_length = bytes.readUInt16LE(at + 28);
    const local = bytes.readUInt32LE(at + 42),
      name = bytes.toString("utf8", at + 46, at + 46 + name_length);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28),
      part = bytes.subarray(begin, begin + packed);
    out[name.replace(/\.npy$/, "")] = read_npy(method === 8 ? inflateRawSync(part) : part);
    at += 46 + name_length + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return out;
}
