"""A headless Chromium for tests, through chromedriver's WebDriver protocol and the standard library alone.

Browser(width, height, scale) starts both; quit() ends them. Missing programs raise Missing with the reason."""
import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

KEYS = {"PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010", "Home": "\ue011", "Left": "\ue012", "Right": "\ue014",
        "Space": " "}


class Missing(Exception):
    pass


def find(names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Missing("no " + " or ".join(names))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, width, height, scale=1):
        browser = find(["chromium", "chromium-browser", "google-chrome"])
        driver = find(["chromedriver"])
        port = free_port()
        self.session = None
        self.url = "http://127.0.0.1:%d" % port
        self.process = subprocess.Popen([driver, "--port=%d" % port], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        metrics = {"width": width, "height": height, "pixelRatio": scale, "touch": False}
        options = {"binary": browser, "args": arguments, "mobileEmulation": {"deviceMetrics": metrics}}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                   "goog:loggingPrefs": {"browser": "ALL"}}}}
        try:
            self.wait_for_driver()
            self.session = self.call("POST", "/session", wanted)["sessionId"]
        except Exception as error:
            self.quit()
            raise Missing("%s does not start: %s" % (browser, str(error)[:200]))

    def wait_for_driver(self):
        for _ in range(100):
            try:
                self.call("GET", "/status")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise Missing("chromedriver does not answer")

    def call(self, method, path, body=None):
        if self.session:
            path = "/session/" + self.session + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].splitlines()[0])

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, *keys):
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": KEYS[key]}, {"type": "keyUp", "value": KEYS[key]}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, x, y):
        """At a place in the window, in CSS pixels."""
        actions = [{"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport"},
                   {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def errors(self):
        return [line["message"] for line in self.call("POST", "/se/log", {"type": "browser"}) if line["level"] == "SEVERE"]

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("GET", "/screenshot")))

    def quit(self):
        try:
            if self.session:
                self.call("DELETE", "")
        except (OSError, RuntimeError):
            pass
        self.process.terminate()
        self.process.wait()
