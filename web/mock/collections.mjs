// The mock server's collections. Each function gives nothing where the path is none of theirs.
import { planted } from "./runs.mjs";

const named = (mock, match) => match && mock.collections.get(decodeURIComponent(match[1]));

export function get_collection(mock, path) {
  if (path === "/collections") {
    return Array.from(mock.collections, ([name, c]) => ({ name, documents: c.documents.size }));
  }
  const match = /^\/collections\/([^/]+)\/(documents|log)(?:\/(.+))?$/.exec(path),
    held = named(mock, match);
  if (!held) return undefined;
  if (match[2] === "log") return held.log.join("\n");
  if (match[3]) return held.documents.get(decodeURIComponent(match[3]));
  return Array.from(held.documents, ([id, d]) => ({ id, ...d, version: 1 }));
}

// Every document is found; mini-arm's answer hardly looks at any.
export function post_collection(mock, path, body) {
  if (path === "/collections") {
    mock.collections.set(body.name, { documents: new Map(), log: [] });
    return [201, { name: body.name }];
  }
  const held = named(mock, /^\/collections\/([^/]+)\/ask$/.exec(path));
  if (!held) return undefined;
  const passages = Array.from(held.documents, ([id, d]) => ({ id, ...d, score: 1.5, version: 1 }));
  const asked = `q${held.log.length + 1}`;
  const runs = body.models.map((model) => {
    const twist = model === "mini-arm" ? 2 : 0,
      run = planted({ id: `ask-${++mock.made}`, title: body.question, S: 6, twist });
    run.info.ask = `${path.split("/")[2]}/${asked}`;
    return mock.start(run);
  });
  held.log.push(JSON.stringify({ event: "ask", question: body.question }));
  return [201, { id: asked, runs, passages: passages.slice(0, body.k ?? 5) }];
}

export function write_document(mock, method, path, body) {
  const match = /^\/collections\/([^/]+)\/documents\/(.+)$/.exec(path),
    held = named(mock, match);
  if (!held) return undefined;
  if (method === "DELETE") held.documents.delete(decodeURIComponent(match[2]));
  else held.documents.set(decodeURIComponent(match[2]), body);
  return [200, {}];
}
