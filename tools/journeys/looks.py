"""Every page with something to show: whether all people can use it, and pictures of it."""
import os
import subprocess

from axe_selenium_python import Axe

from stage import Failure, browser, press, read_console, site, until

PAGES = {
    "overview": "/", "dead": "/dead", "messages": "/messages", "message": "/messages/3", "queue": "/queues/mail",
    "queue-groups": "/queues/orders", "queue-copy": "/queues/mail?copy=3",
    "queue-new": "/queues", "policy": "/queues/mail/policy", "log": "/queues/mail/log",
    "replay": "/queues/mail/replay?count=5", "workers": "/workers", "schedules": "/schedules",
    "schedule": "/schedules/nightly", "workflows": "/workflows", "workflow": "/workflows/release-42", "audit": "/audit",
    "doctor": "/doctor", "login": "/login", "problem": "/queues/none",
}

WORKFLOW = """{"name": "release-42", "tasks": [
    {"name": "fetch", "queue": "build", "payload": "42"},
    {"name": "compile", "queue": "build", "payload": "42", "after": "fetch"},
    {"name": "test", "queue": "build", "payload": "42", "after": "compile"},
    {"name": "docs", "queue": "build", "payload": "42", "after": "fetch"},
    {"name": "publish", "queue": "build", "payload": "42", "after": ["test", "docs"]}]}"""


def fill(place):
    """A store in which each page has something to show, and a worker that has a message in hand."""
    place.command("queue", "set", "mail", "--attempts", "5", "--capacity", "10000", "--when-full", "fail")
    place.dead_letters("mail", "smtp: 451 4.3.2 disk 7 is full\ntry again", 17)
    place.dead_letters("mail", "smtp: 550 no such user <someone@example.org>", 4)
    place.dead_letters("thumbnails", "image 4711 has no width", 3)
    place.command("enqueue", "mail", "{\"to\":\"someone@example.org\",\"subject\":\"Welcome\",\"lines\":[1,2,3]}",
                  "--header", "kind=welcome", "--key", "welcome-17")
    place.command("enqueue", "mail", "--lines", stdin="letter\n" * 120)
    for queue in ("reports", "build"):
        place.command("queue", "create", queue)
    place.command("enqueue", "reports", "nightly", "--delay", "2h")
    place.command("queue", "create", "orders", "--fifo")
    for group in ("acme", "acme", "globex", "acme"):
        place.command("enqueue", "orders", "order", "--group", group)
    place.command("queue", "pause", "reports")
    place.command("schedule", "add", "nightly", "0 3 * * *", "report", "--queue", "reports", "--zone", "Europe/Paris")
    place.command("workflow", "run", "-", stdin=WORKFLOW)
    # One task is done, so that not all of the graph waits.
    place.command("work", "build", "--max", "1", "--", "true")
    worker = subprocess.Popen(
        [os.path.join(place.bin, "penstock"), "work", "thumbnails", "--db", place.file, "--grace", "1s", "--", "sleep", "600"])
    place.command("enqueue", "thumbnails", "cat.png")
    return worker


def pages(bin_path, folder=None):
    """Looks at every page."""
    with site(bin_path, "--name", "staging") as place:
        worker = fill(place)
        try:
            for width in (1280, 390):
                with browser(width) as page:
                    look(page, place, width, folder)
        finally:
            worker.terminate()
            worker.wait(timeout=60)


def look(page, place, width, folder):
    """Looks at every page at that width. In both schemes on a desk, and where pictures are taken; on a telephone, which has the colours of the
    desk, at every other page in the dark."""
    # A window without a frame is never narrower than 500 pixels; a telephone is told to the page.
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
    wrong = []
    for number, (name, path) in enumerate(PAGES.items()):
        schemes = ("light", "dark")
        for scheme in schemes if folder or width > 500 else (schemes[number % 2],):
            page.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            page.get(place.url + path)
            if name == "doctor":
                press(page, "Look now")
                until("the file was looked at", lambda: "Findings" in page.page_source)
            wide = page.execute_script("return document.documentElement.scrollWidth")
            if wide > width:
                wrong.append(f"{name} is {wide} pixels wide at {width}")
            if name == "problem":
                read_console(page)  # It notes the status.
            if folder:
                page.save_screenshot(os.path.join(folder, f"{name}-{width}-{scheme}.png"))
            axe = Axe(page)
            axe.inject()
            wrong += [
                f"{name} at {width}, {scheme}: {rule['id']}: {rule['help']}: "
                + "; ".join(node["html"][:160] for node in rule["nodes"][:3]) for rule in axe.run()["violations"]]
    if wrong:
        raise Failure("\n    ".join(["", *wrong]))


def every_page_is_for_all_people(bin_path):
    """At the width of a desk and of a telephone, in light and dark: nothing beyond the edge, and nothing that axe finds."""
    pages(bin_path)
