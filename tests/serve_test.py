"""The explorer's server over HTTP: every path and status of docs/openapi.json, who is refused, many visitors at once, one that
is killed while it listens, and the server itself killed. usage: serve_test.py BUOY"""
import concurrent.futures
import http.client
import io
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

from explorer_server import API, PATIENCE, Server, fits

Server.program = pathlib.Path(sys.argv.pop(1)).resolve()


class Explorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        subprocess.run([Server.program, "trace", "--prompt", "Question: Who?\nShort Answer:", "--gen-length", "8", "--steps", "4", "-o", cls.folder / "t.npz"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (cls.folder / "study" / "figures").mkdir(parents=True)
        for name, text in (("numbers.csv", "sample,value\nprompt,1.5\n"), ("figures/map.csv", "panel,value\nlayer 0,1\n"),
                           ("figures/behind_map.csv", "panel,model,sample\n,mini-mdm,prompt\n"), ("figures/map.svg", "<svg/>")):
            (cls.folder / "study" / name).write_text(text)
        cls.server = Server(cls.folder, "serve", "--trace", cls.folder / "t.npz", "--tables", cls.folder / "study")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() in (0, 130)
        cls.temporary.cleanup()

    def checked(self, method, path, status, body=None, name=None, headers=None, token=True):
        """Asks, and holds the answer to the document: its status, its type, its fields."""
        got, kind, data = self.server.ask(method, "/api/v1" + path, body, headers, token)
        self.assertEqual(got, status, f"{method} {path}: {data[:300]}")
        name = name or path.split("?")[0]
        documented = API["paths"][name][method.lower()]["responses"]
        self.assertIn(str(status), documented, f"{method} {name} answers {status}, which is not in the document")
        self.seen.add((method, name, status))
        if status == 204:
            return None
        content = documented[str(status)]["content"]
        self.assertIn(kind.split(";")[0], content, f"{method} {name}")
        if kind != "application/json":
            return np.load(io.BytesIO(data)) if kind == "application/octet-stream" else data
        value = json.loads(data)
        self.assertEqual(fits(value, content["application/json"]["schema"]), "", f"{method} {name} {status}")
        if status >= 400:
            self.assertNotIn("\n", value["error"])
        return value

    def test_every_path_and_status_is_as_documented(self):
        self.seen = set()
        ask = self.checked
        self.assertEqual(ask("GET", "/about", 200)["models"], ["mini-mdm", "mini-arm"])
        self.assertIn("t", [run["id"] for run in ask("GET", "/runs", 200)])
        run = ask("GET", "/runs/t", 200, name="/runs/{run}")
        S, N, P = run["steps"], len(run["tokens"]), run["prompt_length"]
        ask("GET", "/runs/none", 404, name="/runs/{run}")
        tokens = ask("GET", "/runs/t/steps/tokens", 200, name="/runs/{run}/steps/tokens")
        self.assertEqual((tokens.shape, tokens.dtype), ((S + 1, N), np.int32))
        self.assertTrue((tokens[-1] == run["tokens"]).all())
        for part in ("tokens", "guesses", "guess_confidence"):
            ask("GET", f"/runs/none/steps/{part}", 404, name="/runs/{run}/steps/" + part)
        self.guessed(run, tokens, P)
        one = "/runs/{run}/arrays/{array}"
        received = ask("GET", "/runs/t/arrays/received", 200, name=one)
        self.assertTrue((ask("GET", "/runs/t/arrays/received?step=1&layer=5", 200, name=one) == received[1:2, 5:6]).all())
        with np.load(self.folder / "t.npz") as trace:
            self.assertTrue((trace["received"] == received).all())
        ask("GET", "/runs/t/arrays/received?step=99", 400, name=one)
        ask("GET", "/runs/t/arrays/header", 404, name=one)
        null = ask("GET", "/runs/t/null?rows=read&step=0", 200, name="/runs/{run}/null")
        self.assertTrue(np.allclose(null, 1 / N))
        ask("GET", "/runs/t/null?rows=some", 400, name="/runs/{run}/null")
        ask("GET", "/runs/none/null", 404, name="/runs/{run}/null")
        for anchor in ask("GET", "/runs/t/anchors?epsilon=2&min_lift=3", 200, name="/runs/{run}/anchors"):
            self.assertGreaterEqual(anchor["lift"], 3)
            if anchor["step"] < S:
                self.assertAlmostEqual(anchor["lift"], received[anchor["step"], anchor["layer"], anchor["position"]] * N, places=3)
        ask("GET", "/runs/t/anchors?epsilon=-1", 400, name="/runs/{run}/anchors")
        ask("GET", "/runs/none/anchors", 404, name="/runs/{run}/anchors")
        flow = ask("GET", f"/runs/t/flow?step={S}&layer=3", 200, name="/runs/{run}/flow")
        self.assertEqual(len(flow["matrix"]), len(flow["regions"]))
        ask("GET", "/runs/t/flow?step=0", 400, name="/runs/{run}/flow")
        ask("GET", "/runs/none/flow?layer=0", 404, name="/runs/{run}/flow")
        pieces = ask("GET", "/runs/t/pieces", 200, name="/runs/{run}/pieces")
        self.assertEqual([pieces[str(i)] for i in run["tokens"]], run["pieces"])
        self.assertEqual(ask("GET", "/runs/t/pieces?ids=5,6", 200, name="/runs/{run}/pieces").keys(), {"5", "6"})
        ask("GET", "/runs/t/pieces?ids=a", 422, name="/runs/{run}/pieces")
        ask("GET", "/runs/t/pieces?ids=-1", 400, name="/runs/{run}/pieces")
        ask("GET", "/runs/none/pieces", 404, name="/runs/{run}/pieces")
        self.recomputed(run, received)
        self.lived(P)
        self.collected()
        self.assertEqual(ask("GET", "/tables", 200)[0]["columns"], ["sample", "value"])
        self.assertEqual(ask("GET", "/tables/numbers", 200, name="/tables/{table}"),
                         {"columns": ["sample", "value"], "rows": [["prompt", 1.5]], "sample_column": 0})
        ask("GET", "/tables/none", 404, name="/tables/{table}")
        samples, picture = "/tables/{table}/samples", "/tables/{table}/picture"
        self.assertEqual(ask("GET", "/tables/map/samples", 200, name=samples), {"columns": ["panel", "model", "sample"], "rows": [["", "mini-mdm", "prompt"]]})
        self.assertEqual(ask("GET", "/tables/map/picture", 200, name=picture), b"<svg/>")
        ask("GET", "/tables/numbers/samples", 404, name=samples)
        ask("GET", "/tables/numbers/picture", 404, name=picture)
        for name, methods in API["paths"].items():
            for method, what in methods.items():
                path = re.sub(r"\{\w+\}", "x", name)
                ask(method.upper(), path, 401, name=name, token=False)
                for status in what["responses"]:
                    hard = {"429", "503", "413"} | ({"409"} if "collection" in name else set())  # need many, or a server without a folder
                    if status not in hard:
                        self.assertIn((method.upper(), name, int(status)), self.seen, "documented, and not tried here")

    def recomputed(self, run, received):
        ask, N, H = self.checked, len(run["tokens"]), run["heads"]
        name = "/runs/{run}/attention"
        rows = np.array([ask("GET", f"/runs/t/attention?step=1&layer=5&head=mean&position={p}&direction=row", 200, name=name) for p in range(N)])
        self.assertTrue(np.allclose(rows.sum(axis=1), 1, atol=1e-5))
        self.assertTrue(np.allclose(rows.mean(axis=0), received[1, 5], atol=1e-6), "rows add up to what was recorded")
        column = ask("GET", "/runs/t/attention?step=1&layer=5&position=2&direction=column", 200, name=name)
        self.assertTrue(np.allclose(column, rows[:, 2], atol=1e-7))
        grid = ask("GET", "/runs/t/grid?step=1&position=4&target=2", 200, name="/runs/{run}/grid")
        self.assertEqual(grid.shape, (len(run["layers"]), H))
        self.assertAlmostEqual(float(grid[5].mean()), float(rows[4, 2]), places=6)
        best = ask("GET", "/runs/t/candidates?step=0&position=%d&k=3" % (N - 1), 200, name="/runs/{run}/candidates")
        self.assertEqual(len(best), 3)
        guesses = ask("GET", "/runs/t/steps/guesses", 200, name="/runs/{run}/steps/guesses")
        self.assertEqual(best[0]["token"], guesses[0, N - 1], "what was guessed is what is surest now")
        ask("GET", "/runs/t/attention?step=1&layer=99&position=0", 400, name=name)
        ask("GET", "/runs/t/grid?step=1&position=0&target=9999", 400, name="/runs/{run}/grid")
        ask("GET", "/runs/t/candidates?position=x", 400, name="/runs/{run}/candidates")
        for part in ("attention?layer=0&position=0", "grid?position=0&target=0", "candidates?position=0"):
            ask("GET", "/runs/none/" + part, 404, name="/runs/{run}/" + part.split("?")[0])
        with tempfile.TemporaryDirectory() as folder:  # a trace whose model is not at hand
            arrays = dict(np.load(self.folder / "t.npz"))
            header = json.loads(str(arrays["header"]))
            header["model_hash"] = "0" * 32
            arrays["header"] = np.array(json.dumps(header))
            del arrays["guesses"], arrays["guess_confidence"]  # as older versions wrote it
            np.savez(pathlib.Path(folder) / "strange.npz", **arrays)
            whole, self.server = self.server, Server(pathlib.Path(folder), "view", pathlib.Path(folder) / "strange.npz")
            try:
                strange = ask("GET", "/runs/strange", 200, name="/runs/{run}")
                self.assertEqual((strange["can_recompute"], strange["has_guesses"]), (False, False))
                ask("GET", "/runs/strange/steps/guesses", 404, name="/runs/{run}/steps/guesses")
                for part in ("attention?layer=0&position=0", "grid?position=0&target=0", "candidates?position=0"):
                    ask("GET", "/runs/strange/" + part, 409, name="/runs/{run}/" + part.split("?")[0])
                ask("POST", "/runs/strange/fork", 409, {"step": 0, "hide_keys": [0]}, name="/runs/{run}/fork")
                ask("POST", "/runs", 404, {"model": "mini-mdm", "prompt": "x"})
            finally:
                self.assertIn(self.server.stop(), (0, 130))
                self.server = whole

    def guessed(self, run, tokens, P):
        """Guesses stand where masks are, each with how sure it was, and what a step writes it has guessed."""
        here = "/runs/%s/steps/" % run["id"]
        guesses = self.checked("GET", here + "guesses", 200, name="/runs/{run}/steps/guesses")
        sure = self.checked("GET", here + "guess_confidence", 200, name="/runs/{run}/steps/guess_confidence")
        self.assertEqual(guesses.shape, (run["steps"], len(run["tokens"])))
        self.assertTrue(((guesses >= 0) == (tokens[:-1] == run["mask_id"])).all())
        self.assertTrue(((guesses >= 0) == (sure > 0)).all())
        for position, step in enumerate(run["commit_step"]):
            self.assertEqual(guesses[step, P + position], run["tokens"][P + position])

    def lived(self, P):
        ask = self.checked
        made = ask("POST", "/runs", 201, {"model": "mini-mdm", "prompt": "Question: Who?\nShort Answer:", "sampler": {"gen_length": 8, "steps": 4}, "steps_to_go": 1})["id"]
        for body, status in (({}, 400), ({"prompt": 5}, 422), ({"prompt": "x", "model": "none"}, 404)):
            ask("POST", "/runs", status, body)
        self.server.wait(made, "stopped")
        here = "/runs/" + made
        ask("PATCH", here, 200, {"steps_left": 2}, name="/runs/{run}")
        ask("PATCH", here, 400, {"steps_left": 0}, name="/runs/{run}")
        ask("PATCH", "/runs/none", 404, {"steps_left": 1}, name="/runs/{run}")
        ask("PATCH", "/runs/t", 409, {"steps_left": 1}, name="/runs/{run}")
        ask("POST", here + "/stop", 200, name="/runs/{run}/stop")
        ask("POST", here + "/go", 400, {"steps": 0}, name="/runs/{run}/go")
        ask("POST", here + "/go", 200, {"steps": None}, name="/runs/{run}/go")
        run = self.server.wait(made)
        self.assertEqual((run["steps"], run["changes"]), (3, [{"step": 1, "steps_left": 2}]))
        for part in ("stop", "go"):
            ask("POST", f"{here}/{part}", 409, name="/runs/{run}/" + part)
            ask("POST", f"/runs/none/{part}", 404, name="/runs/{run}/" + part)
        self.guessed(run, ask("GET", here + "/steps/tokens", 200, name="/runs/{run}/steps/tokens"), P)
        events = ask("GET", here + "/events", 200, name="/runs/{run}/events").decode()
        self.assertEqual(events.count("event: step"), 3)
        last = events.count("\nid: ") + 1
        ask("GET", f"{here}/events?after={last}", 204, name="/runs/{run}/events")
        self.assertEqual(ask("GET", here + "/events", 200, name="/runs/{run}/events", headers={"Last-Event-ID": str(last - 1)}).decode().count("id: "), 1)
        ask("GET", "/runs/none/events", 404, name="/runs/{run}/events")
        ask("GET", "/runs/t/events", 409, name="/runs/{run}/events")
        fork = ask("POST", here + "/fork", 201, {"step": 1, "cut_heads": [[0, 0]], "pin_anchors": [2]}, name="/runs/{run}/fork")["id"]
        self.assertEqual(self.server.wait(fork)["fork_step"], 1)
        pins = ask("GET", "/runs/" + fork, 200, name="/runs/{run}")["pins"]
        self.assertEqual([(pin["layer"], pin["step"]) for pin in pins], [(2, 1)])
        ask("POST", here + "/fork", 400, {"step": 1, "pin_anchors": [99]}, name="/runs/{run}/fork")
        ask("POST", here + "/fork", 400, {"step": 1}, name="/runs/{run}/fork")
        ask("POST", here + "/fork", 422, {"step": 1, "force": [{"position": P, "text": 5}]}, name="/runs/{run}/fork")
        ask("POST", "/runs/none/fork", 404, {"step": 1}, name="/runs/{run}/fork")
        ask("DELETE", "/runs/" + fork, 200, name="/runs/{run}")
        ask("DELETE", "/runs/" + fork, 404, name="/runs/{run}")
        ask("DELETE", "/runs/t", 409, name="/runs/{run}")

    def collected(self):
        ask, documents, one = self.checked, "/collections/{collection}/documents", "/collections/{collection}/documents/{document}"
        ask("POST", "/collections", 201, {"name": "towns"})
        ask("POST", "/collections", 409, {"name": "towns"})
        ask("POST", "/collections", 400, {"name": "../towns"})
        ask("POST", "/collections", 422, {"name": 5})
        ask("PUT", "/collections/towns/documents/a/b", 200, {"title": "Halford", "text": "The mayor of Halford is Tor Banor."}, name=one)
        ask("PUT", "/collections/towns/documents/a/b", 400, {"text": ""}, name=one)
        ask("PUT", "/collections/towns/documents/a/b", 422, {"text": 5}, name=one)
        ask("PUT", "/collections/none/documents/a", 404, {"text": "x"}, name=one)
        self.assertEqual(ask("GET", "/collections/towns/documents/a/b", 200, name=one)["title"], "Halford")
        ask("GET", "/collections/towns/documents/c", 404, name=one)
        self.assertEqual(len(ask("GET", "/collections/towns/documents", 200, name=documents)), 1)
        ask("GET", "/collections/none/documents", 404, name=documents)
        name = "/collections/{collection}/ask"
        asked = ask("POST", "/collections/towns/ask", 201, {"question": "Who is the mayor of Halford?", "k": 1, "sampler": {"gen_length": 8, "steps": 2}}, name=name)
        self.assertEqual([len(asked["runs"]), asked["passages"][0]["id"]], [2, "a/b"])
        for run in asked["runs"]:
            self.server.wait(run)
        for body, status in (({"question": "x", "k": -1}, 400), ({"question": 5}, 422), ({"question": "x", "models": ["none"]}, 404)):
            ask("POST", "/collections/towns/ask", status, body, name=name)
        log = ask("GET", "/collections/towns/log", 200, name="/collections/{collection}/log").decode()
        self.assertEqual([json.loads(line)["event"] for line in log.splitlines()], ["add", "ask"])
        ask("GET", "/collections/none/log", 404, name="/collections/{collection}/log")
        self.assertEqual(ask("GET", "/collections", 200), [{"name": "towns", "documents": 1, "questions": 1}])
        ask("DELETE", "/collections/towns/documents/a/b", 200, name=one)
        ask("DELETE", "/collections/towns/documents/a/b", 404, name=one)

    def test_strangers_are_refused(self):
        ask = self.server.ask
        about = "/api/v1/about"
        self.assertEqual(ask("GET", about, token=False)[0], 401)
        self.assertEqual(ask("GET", about, headers={"X-Buoy-Token": "0" * 32})[0], 401)
        self.assertEqual(ask("GET", about + "?token=" + self.server.token, token=False)[0], 200)
        self.assertEqual(ask("GET", about, headers={"Host": "evil.example"})[0], 421, "DNS rebinding")
        self.assertEqual(ask("GET", about, headers={"Host": f"evil.example:{self.server.port}"})[0], 421)
        self.assertEqual(ask("GET", "/", headers={"Host": f"evil.example:{self.server.port}"}, token=False)[0], 421)
        self.assertEqual(ask("GET", about, headers={"Host": f"localhost:{self.server.port}"})[0], 200)
        self.assertEqual(ask("POST", "/api/v1/runs", {}, headers={"Origin": "http://evil.example"})[0], 403)
        self.assertEqual(ask("GET", about, headers={"Sec-Fetch-Site": "cross-site"})[0], 403)
        status, _, _ = ask("OPTIONS", "/api/v1/runs", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
        self.assertEqual(status, 403)
        self.assertNotIn("Access-Control-Allow-Origin", self.server.headers)
        self.assertEqual(ask("GET", "/", token=False)[0], 200, "the page holds no data")
        self.assertIn("default-src 'none'", self.server.headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", self.server.headers["Content-Security-Policy"])

    def test_wrong_requests_leave_the_server_standing(self):
        ask = self.server.ask
        status, _, data = ask("POST", "/api/v1/runs", b"x" * (2 << 20))
        self.assertEqual((status, list(json.loads(data))), (413, ["error"]))
        # curl -d and urllib call every body a form; one of 20 kB is no longer than what is allowed.
        for kind in ("application/x-www-form-urlencoded", "application/json", "text/plain", ""):
            status, _, data = ask("POST", "/api/v1/runs", {"model": "none", "prompt": "a=b&stepp=1 " * 2000}, headers={"Content-Type": kind})
            self.assertEqual((status, json.loads(data)["error"][:5]), (404, "model"), kind)
        status, _, data = ask("POST", "/api/v1/runs", b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--\r\n",
                              headers={"Content-Type": "multipart/form-data; boundary=x"})
        self.assertEqual((status, json.loads(data)["error"]), (400, "body is multipart/form-data, expected JSON"))
        status, _, data = ask("GET", "/api/v1/runs/t/arrays/received?stepp=1")
        self.assertEqual((status, json.loads(data)["error"]), (400, '"stepp" stands in the query, expected step, layer'))
        for body in (b"{", b"[]", b"\xff\xfe", b"null", b"{" * 100000):
            self.assertEqual(ask("POST", "/api/v1/runs", body)[0], 400)
        for path in ("/api/v1/../../etc/passwd", "/assets/../../etc/passwd", "/assets/%2e%2e/x", "/api/v2/about", "/nothing", "/api/v1/runs/%00"):
            self.assertEqual(ask("GET", path)[0], 404, path)
        for junk in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /api/v1/runs HTTP/1.1\r\nContent-Length: -5\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.server.port)) as line:
                line.sendall(junk)
                line.settimeout(10)
                try:
                    line.recv(1000)
                except (TimeoutError, ConnectionError):
                    pass
        self.assertEqual(ask("DELETE", "/api/v1/about")[0], 405)
        self.assertEqual(ask("GET", "/api/v1/about")[0], 200)

    def test_twenty_visitors_at_once_get_the_same(self):
        def visit(_):
            run = self.server.json("GET", "/runs/t")
            return run["answer"], self.server.array("/runs/t/attention?step=2&layer=4&head=1&position=3").tobytes()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            self.assertEqual(len(set(pool.map(visit, range(20)))), 1)

    def test_a_listener_that_is_killed_holds_up_nothing(self):
        run = self.server.start(8, steps_to_go=1)
        listeners = []
        for _ in range(3):  # they never read, and go away in the middle
            line = socket.create_connection(("127.0.0.1", self.server.port))
            line.sendall(f"GET /api/v1/runs/{run}/events?token={self.server.token} HTTP/1.1\r\nHost: {self.server.host}\r\n\r\n".encode())
            listeners.append(line)
        self.assertIn(b"text/event-stream", listeners[0].recv(4000))
        for line in listeners[:2]:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            line.close()
        self.server.json("POST", f"/runs/{run}/go", {})
        self.assertEqual(self.server.wait(run)["steps"], 8)
        listeners[2].close()

    def test_steps_are_heard_while_the_run_goes_on(self):
        run = self.server.start(8, steps_to_go=3)
        heard, done = [], threading.Event()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        connection.request("GET", f"/api/v1/runs/{run}/events", headers={"X-Buoy-Token": self.server.token})
        answer = connection.getresponse()

        def listen():
            for line in answer:
                heard.append(line.decode().strip())
                if heard[-1] == 'data: {"state":"stopped"}':
                    done.set()
        listener = threading.Thread(target=listen)
        listener.start()
        self.assertTrue(done.wait(PATIENCE), heard)
        self.assertEqual(heard.count("event: step"), 3)
        self.server.json("POST", f"/runs/{run}/go", {})
        self.server.wait(run)
        listener.join(PATIENCE)
        self.assertEqual(heard.count("event: step"), 8)
        connection.close()


class Killed(unittest.TestCase):
    def test_the_log_survives_the_servers_death(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            server = Server(folder)
            server.json("POST", "/collections", {"name": "c"})
            answered = 0
            stop = threading.Event()

            def write():
                nonlocal answered
                while not stop.is_set():
                    try:
                        status, _, _ = server.ask("PUT", f"/api/v1/collections/c/documents/d{answered}", {"text": f"word{answered}"})
                    except (OSError, http.client.HTTPException):
                        return
                    if status == 200:
                        answered += 1
            writer = threading.Thread(target=write)
            writer.start()
            while answered < 10:
                time.sleep(0.01)
            os.kill(server.process.pid, signal.SIGKILL)
            stop.set()
            writer.join()
            server.kill()
            again = Server(folder)
            documents = {d["id"] for d in again.json("GET", "/collections/c/documents")}
            self.assertTrue({f"d{i}" for i in range(answered)} <= documents, "whatever was answered is there")
            found = again.json("POST", "/collections/c/ask", {"question": "word3", "k": 1, "models": []})
            self.assertEqual(found["passages"][0]["id"], "d3")
            again.kill()


if __name__ == "__main__":
    unittest.main()
