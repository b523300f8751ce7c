"""A server on a file of its own, and a browser that looks at it."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

WAIT_SECONDS = 60


class Failure(Exception):
    """What a journey found wrong."""


def until(what, condition):
    """Waits until the condition holds, and gives what it gave."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            value = condition()
        except Exception as error:  # An element that the page has just replaced is looked for again.
            value, what_was = None, f" ({type(error).__name__})"
        else:
            what_was = ""
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"never: {what}{what_was}")
        time.sleep(0.05)


class Site:
    """A server, its file, and the command for that file."""

    def __init__(self, bin_path, *options):
        self.bin = bin_path
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="penstock-browser-")
        self.file = os.path.join(self.folder, "store.db")
        self.process, self.url = None, None
        # A server makes no file.
        self.command("queue", "create", "mail")

    def start(self, listen="127.0.0.1:0"):
        self.process = subprocess.Popen(
            [os.path.join(self.bin, "penstock-server"), "--db", self.file, "--listen", listen, *self.options],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "http://" not in line:
            raise Failure(f"the server did not start: {line!r}")
        self.url = "http://" + line.split("http://")[1].strip().rstrip("/")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=60)
            self.process.stdout.close()
            self.process = None

    def command(self, *arguments, stdin=None):
        done = subprocess.run(
            [os.path.join(self.bin, "penstock"), *arguments, "--db", self.file] if "--" not in arguments
            else [os.path.join(self.bin, "penstock"), *insert(arguments, ["--db", self.file])],
            input=stdin, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failure(f"penstock {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def ask(self, path, body):
        """Asks the server's API, as a worker elsewhere does."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def dead_letters(self, queue, error, count):
        """Makes dead letters of that error."""
        self.command("queue", "create", queue, "--if-absent")
        self.command("enqueue", queue, "--lines", stdin="".join(f"letter {number}\n" for number in range(count)))
        self.command("work", queue, "--drain", "--", "sh", "-c", f"echo '{error}' >&2; exit 65")


def insert(arguments, more):
    """The arguments with more of them in front of the two dashes."""
    at = arguments.index("--")
    return [*arguments[:at], *more, *arguments[at:]]


@contextlib.contextmanager
def site(bin_path, *options, start=True):
    """A server that is there while the block runs."""
    made = Site(bin_path, *options)
    try:
        if start:
            made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.folder, ignore_errors=True)


@contextlib.contextmanager
def browser(width=1280, script=True):
    """A browser without a window. What its console says in the end is a failure, unless it was read before."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     f"--window-size={width},900", "--hide-scrollbars", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update"):
        options.add_argument(argument)
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(WAIT_SECONDS)
        yield driver
        # A violation of the content security policy is told there too.
        said = [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        if said:
            raise Failure("the console says: " + "; ".join(entry["message"] for entry in said))
    finally:
        driver.quit()


def read_console(driver):
    """What the console says, which is no failure then."""
    return [entry["message"] for entry in driver.get_log("browser")]


def one(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def text(driver, selector="main"):
    return one(driver, selector).text


def settle(driver):
    """Waits until the page has brought itself up to date, as it does once when its line opens: elements stay for a while then."""
    until("the page has looked", lambda: driver.execute_script(
        "return performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'fetch')"))


def open_live(driver, url):
    """Opens a page, and waits until it brings itself up to date."""
    driver.get(url)
    until("the page is live", lambda: "Live" in text(driver, ".freshness"))
    settle(driver)


def press(driver, label):
    """Presses the button that says so. One that the page has replaced before it was pressed is looked for again."""
    def is_pressed():
        for button in driver.find_elements(By.CSS_SELECTOR, "button, summary"):
            if button.is_displayed() and button.text.strip().startswith(label):
                button.click()
                return True
        return False
    until(f"there is a button {label!r}", is_pressed)


def expect(holds, what):
    if not holds:
        raise Failure(what)
