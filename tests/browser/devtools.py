# SPDX-License-Identifier: MIT
"""Debian's chromium, driven through its own protocol: a WebSocket of the standard library's sockets, nothing to install but the browser."""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--remote-debugging-port=0"]


def find():
    """Path of the browser, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Socket:
    """The client's half of RFC 6455, text messages only."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(65536)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        head = struct.pack("!BB", 0x81, 0x80 | size) if size < 126 else \
            struct.pack("!BBH", 0x81, 0x80 | 126, size) if size < 65536 else struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        key = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def take(self, count):
        while len(self.buffer) < count:
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the browser hung up")
            self.buffer += more
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def receive(self):
        text = b""
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack("!H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.take(8))[0]
            data = self.take(size)
            if first & 15 in (0, 1):
                text += data
                if first & 128:
                    return text.decode()


class Browser:
    """One browser with one tab. Keeps what the page said and asked for since the last open()."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="lastlayer-browser-")
        self.log = open(pathlib.Path(self.folder) / "log", "wb")
        self.process = subprocess.Popen([find(), *FLAGS, "--user-data-dir=" + self.folder, "about:blank"], stdout=subprocess.DEVNULL, stderr=self.log)
        note = pathlib.Path(self.folder) / "DevToolsActivePort"
        end = time.time() + 60
        while not (note.exists() and "\n" in note.read_text()):
            if self.process.poll() is not None or time.time() > end:
                raise RuntimeError("no browser: " + (pathlib.Path(self.folder) / "log").read_text(errors="replace")[-500:])
            time.sleep(0.05)
        port = int(note.read_text().split("\n")[0])
        self.count, self.problems, self.requests = 0, [], []
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [p for p in json.load(answer) if p["type"] == "page"]
            if pages:
                break
            time.sleep(0.05)
        self.socket = Socket("127.0.0.1", port, "/" + pages[0]["webSocketDebuggerUrl"].split("/", 3)[3])
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(domain + ".enable")

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"].get("exception", params["exceptionDetails"])))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(str([a.get("value") for a in params["args"]]))
        elif method == "Log.entryAdded":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append("dialog: " + params["message"])
            self.socket.send(json.dumps({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}))
        return method

    def call(self, method, **params):
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.count:
                assert "error" not in message, f"{method}: {message.get('error')}"
                return message["result"]
            self.event(message)

    def open(self, path, width=1280, height=900):
        self.problems, self.requests = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while self.event(json.loads(self.socket.receive())) != "Page.loadEventFired":
            pass

    def run(self, expression):
        """Value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def key(self, key, code=None, modifiers=0):
        virtual = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, " ": 32, "Home": 36, "End": 35}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode=virtual, modifiers=modifiers, **(text if kind == "keyDown" else {}))

    def screenshot(self, path, clip=None, full=False):
        more = {"captureBeyondViewport": True} if full else {}
        if clip:
            more["clip"] = dict(zip(["x", "y", "width", "height"], clip), scale=1)
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"]))
