"""A `buoy serve` or `buoy view` to ask, and whether what it answers is what docs/openapi.json says."""
import http.client
import io
import json
import pathlib
import re
import signal
import subprocess
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
API = json.loads((ROOT / "docs" / "openapi.json").read_text())
PATIENCE = 120  # seconds until something that should happen counts as not happening


class Server:
    program = None  # the command

    def __init__(self, folder, verb="serve", *arguments):
        self.process = subprocess.Popen([self.program, verb, "--device", "cpu", "--collections", folder / "collections", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
        address = self.process.stdout.readline()
        host, self.token = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/#token=([0-9a-f]{32})\n", address).groups()
        self.host, self.port = host, int(host.split(":")[1])

    def ask(self, method, path, body=None, headers=None, token=True):
        """Status, type and bytes; a body may be an object or bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"X-Buoy-Token": self.token} if token else {}
        sent.update(headers or {})
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, body=data, headers=sent)
        answer = connection.getresponse()
        result = answer.status, answer.getheader("Content-Type"), answer.read()
        self.headers = dict(answer.getheaders())
        connection.close()
        return result

    def json(self, method, path, body=None):
        return json.loads(self.ask(method, "/api/v1" + path, body)[2])

    def array(self, path):
        status, _, data = self.ask("GET", "/api/v1" + path)
        assert status == 200, data
        return np.load(io.BytesIO(data))

    def wait(self, run, state="done"):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            made = self.json("GET", f"/runs/{run}")
            if made["state"] in (state, "failed"):
                assert made["state"] == state, made.get("error")
                return made
            time.sleep(0.02)
        raise AssertionError(f"{run} never was {state}")

    def start(self, steps=4, **more):
        return self.json("POST", "/runs", {"model": "mini-mdm", "prompt": "Question: Who?\nShort Answer:",
                                           "sampler": {"gen_length": 8, "steps": steps}, **more})["id"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        return code


def fits(value, schema):
    """Whether a value is what the schema says; as much of JSON Schema as openapi.json uses. Empty, or what is wrong."""
    if "$ref" in schema:
        return fits(value, API["components"]["schemas"][schema["$ref"].split("/")[-1]])
    if "oneOf" in schema:
        return "" if any(not fits(value, one) for one in schema["oneOf"]) else f"{value!r} is none of {schema['oneOf']}"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
    kind = schema.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
        return f"{value!r} is no {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is none of {schema['enum']}"
    if kind == "array" and "items" in schema:
        return next(filter(None, (fits(one, schema["items"]) for one in value)), "")
    if kind == "object":
        known = schema.get("properties", {})
        missing = [name for name in schema.get("required", []) if name not in value]
        strange = [name for name in value if name not in known] if schema.get("additionalProperties") is False else []
        if missing or strange:
            return f"missing {missing}, not documented {strange}"
        return next((f"{name}: {wrong}" for name, one in value.items() if name in known and (wrong := fits(one, known[name]))), "")
    return ""
