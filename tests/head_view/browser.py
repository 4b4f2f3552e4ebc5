# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that opens pages, gets pointer and keyboard input like that of a person, and reports what is on the page.

It is controlled by its own protocol (DevTools) through a pipe, so that only Chromium and Python are needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

# No first-run pages, reports or updates: the browser uses the network only for the page.
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe").split()
SKIPPED = 77


def find_chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One page of one browser. Use as a context manager."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "sh", find_chromium(), *FLAGS,
             f"--user-data-dir={self.folder.name}", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffer, self.last_id, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.close(self.commands)
        os.close(self.answers)
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def receive(self):
        parts = [self.buffer]
        while b"\0" not in parts[-1]:
            parts.append(os.read(self.answers, 1 << 20))
            if not parts[-1]:
                raise RuntimeError("Chromium ended")
        message, self.buffer = b"".join(parts).split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self.commands, content):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1400, height=1000):
        self.resize(width, height)
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def resize(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def settle(self):
        """Waits until the page has handled the input and has been drawn again."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def media(self, name="", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=name, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def ask(self, expression):
        """The value of a JavaScript expression, transferred as JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", answer["exceptionDetails"]["text"]))
        return answer["result"].get("value")

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def touch(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9}.get(key, 0))

    def picture(self, whole=False):
        """A PNG of the window, or of the whole page, in base64."""
        return self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, optimizeForSpeed=True)["data"]

    def screenshot(self, path, whole=False):
        Path(path).write_bytes(base64.b64decode(self.picture(whole)))

    def colours(self, points, whole=False):
        """Red, green and blue of pixels in a picture of the page; the page itself decodes the picture."""
        return self.ask(f"""(async () => {{
          const image = new Image();
          image.src = "data:image/png;base64,{self.picture(whole)}";
          await image.decode();
          const canvas = document.createElement("canvas");
          Object.assign(canvas, {{ width: image.width, height: image.height }});
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const {{ data }} = context.getImageData(0, 0, image.width, image.height);
          return {json.dumps(points)}.map(([x, y]) => {{
            const at = 4 * (Math.floor(y) * image.width + Math.floor(x));
            return [...data.subarray(at, at + 3)];
          }}); }})()""")

    def pdf(self, path, landscape=False):
        content = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69, landscape=landscape)
        Path(path).write_bytes(base64.b64decode(content["data"]))

    def complaints(self):
        """What the console shows: exceptions, messages, and requests that the page's policy blocked."""
        self.ask("0")
        return [event for event in self.events
                if event.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]

    def requests(self):
        """The addresses that were requested, except for the page's own."""
        urls = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls[1:] if not url.startswith("data:")]
