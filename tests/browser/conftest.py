"""The built site, served on this machine to a real browser that asks nobody else."""

import os
import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import built_site
import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
SIZES = {"light": (1280, 900), "dark": (1280, 900), "phone": (390, 844)}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and writes no line about each."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def folder():
    """Where the site lies that `make docs` has built."""
    if built_site.FOLDER is None:
        pytest.skip(built_site.MISSING)
    return built_site.FOLDER


@pytest.fixture(scope="session")
def address(folder):
    """The site's root, as a browser asks for it."""
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser(folder):
    """Chromium as the system has it; Playwright's own download is not asked for."""
    if CHROMIUM is None:
        pytest.skip("no program `chromium`: apt-get install chromium, or set CHROMIUM")
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, as whom containers run.
        options = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


class Visitor:
    """Opens pages, and notes what a page does that it must not do.

    `faults` are errors on the console, answers such as 404, and requests to others.
    """

    def __init__(self, page, root):
        self.page, self.root = page, root
        self.faults = []
        page.set_default_timeout(60_000)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"raises {error}"))
        page.on("response", self._receive)
        page.route(lambda url: not url.startswith((root, "data:", "blob:")), self._stop)

    def open(self, name):
        """Go to a page, and wait until its scripts have run."""
        self.page.goto(self.root + name, wait_until="load")
        self.page.evaluate("document.fonts.ready.then(() => 0)")
        return self.page

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _receive(self, response):
        if response.status >= 400:
            self.faults.append(f"{response.status} for {response.url}")

    def _stop(self, route):
        self.faults.append(f"asks {route.request.url}")
        route.abort()


@pytest.fixture
def visitor(browser, address):
    """`with visitor("dark") as visit:` is a window of its own, in one of `SIZES`."""

    @contextmanager
    def visiting(mode="light", motion=False):
        width, height = SIZES[mode]
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if mode == "dark" else "light",
            reduced_motion="no-preference" if motion else "reduce",
        )
        yield Visitor(context.new_page(), address)
        context.close()

    return visiting
