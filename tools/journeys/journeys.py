"""What people do with the dashboard. Each journey has a server of its own."""
import os

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from stage import browser, expect, one, open_live, press, read_console, settle, site, text, until


def overview_follows_the_store(bin_path):
    """A message that a command enqueues is on the page in a moment, which is not loaded anew, and loses neither focus nor place."""
    with site(bin_path) as place, browser() as page:
        for number in range(40):
            place.command("queue", "create", f"queue-{number:02}")
        page.get(place.url)
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        page.execute_script("window.wasHere = true; document.querySelector('a[href=\"/queues/queue-30\"]').focus();")
        scrolled = page.execute_script("scrollTo(0, 400); return scrollY;")
        place.command("enqueue", "queue-30", "hello")
        row = "//tr[th/a[text()='queue-30']]/td[1]"
        until("one message is ready", lambda: page.find_element(By.XPATH, row).text.split()[-1] == "1")
        expect(page.execute_script("return window.wasHere === true"), "the page was loaded anew")
        expect(page.execute_script("return document.activeElement.textContent") == "queue-30", "the focus was lost")
        expect(page.execute_script("return scrollY") == scrolled, "the page has scrolled")


def nothing_is_replaced_while_somebody_reads(bin_path):
    """Not while updates are paused, text is selected, or somebody types."""
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "one")
        page.get(place.url)
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        ready = "//tr[th/a[text()='mail']]/td[1]"
        shown = lambda: page.find_element(By.XPATH, ready).text.split()[-1]
        # A line of the test's own says when the server has told of a change.
        page.execute_script("""
            window.told = 0;
            new EventSource("/events").addEventListener("change", () => { window.told += 1; });""")
        told = lambda: page.execute_script("return window.told")

        def hear():
            """Returns when the page has been told of a change, and had the time to act on it."""
            before = told()
            until("the server has told of two changes", lambda: (
                place.command("enqueue", "mail", "more"), told() > before + 1)[1])

        page.execute_script("getSelection().selectAllChildren(document.querySelector('main h1'))")
        hear()
        expect(shown() == "1", "the page was replaced while text was selected")
        page.execute_script("getSelection().removeAllRanges()")
        until("it goes on", lambda: shown() != "1")
        press(page, "Pause updates")
        before = shown()
        hear()
        expect(shown() == before, "the page was replaced while it was paused")
        expect("Paused" in text(page, ".freshness"), "it does not say that it is paused")
        press(page, "Go on with updates")
        until("it goes on", lambda: shown() != before)


def a_lost_connection_is_said(bin_path):
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "one")
        page.get(place.url)
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        listen = place.url.removeprefix("http://")
        place.stop()
        until("it says so", lambda: "Connection lost" in text(page, ".freshness"))
        expect("mail" in text(page), "what was shown is gone")
        place.command("enqueue", "mail", "two")
        place.start(listen)
        until("it is back", lambda: "Live" in text(page, ".freshness"))
        until("it shows what came meanwhile", lambda: page.find_element(
            By.XPATH, "//tr[th/a[text()='mail']]/td[1]").text.split()[-1] == "2")
        said = [line for line in read_console(page) if "ERR_" not in line]
        expect(not said, f"the console says: {said}")


def what_changed_while_the_line_was_closed_is_shown(bin_path):
    """The log follows its queue alone: nothing tells it of what came while there was no line."""
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "the first")
        page.get(f"{place.url}/queues/mail/log")
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        listen = place.url.removeprefix("http://")
        place.stop()
        until("it says so", lambda: "Connection lost" in text(page, ".freshness"))
        place.command("enqueue", "mail", "the second")
        place.start(listen)
        until("it shows what came meanwhile", lambda: "the second" in text(page))
        said = [line for line in read_console(page) if "ERR_" not in line]
        expect(not said, f"the console says: {said}")


def a_page_with_a_list_of_choices_follows_the_store(bin_path):
    """A list of which nobody has chosen anything keeps nothing back; one that was touched is not taken away."""
    with site(bin_path) as place, browser() as page:
        page.get(f"{place.url}/messages")
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        place.command("enqueue", "mail", "one")
        rows = lambda: len(page.find_elements(By.CSS_SELECTOR, "tbody th"))
        until("the message is there", lambda: rows() == 1)
        page.execute_script("document.querySelector('select[name=state]').value = 'dead'")
        place.command("enqueue", "mail", "two")
        page.execute_script("""
            window.ticks = 0;
            new EventSource("/events").addEventListener("tick", () => { window.ticks += 1; });""")
        until("time has passed", lambda: page.execute_script("return window.ticks") > 0)
        expect(rows() == 1, "the page was replaced while somebody chose")


def a_page_that_is_refused_is_asked_for_again(bin_path):
    with site(bin_path) as place, browser() as page:
        page.get(f"{place.url}/queues/mail/log")
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        page.execute_script("""
            const real = window.fetch;
            window.refused = 0;
            window.fetch = (...request) => window.isOpen ? real(...request)
              : (window.refused += 1, Promise.resolve(new Response("", { status: 503 })));""")
        place.command("enqueue", "mail", "hello")
        until("it says so", lambda: "no newer page" in text(page, ".freshness"))
        before = page.execute_script("return window.refused")
        until("it is asked for again", lambda: page.execute_script("return window.refused") > before)
        page.execute_script("window.isOpen = true")
        until("it shows what came meanwhile", lambda: "hello" in text(page))
        until("it is live again", lambda: "Live" in text(page, ".freshness"))


def progress_is_followed(bin_path):
    """How far work has come is no number of a queue: the page looks by itself."""
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "long")
        claim = place.ask("/v1/queues/mail/claims", {"lease": "10m"})["messages"][0]
        page.get(f"{place.url}/messages/1")
        until("the page is live", lambda: "Live" in text(page, ".freshness"))
        expect("leased" in text(page, ".head"), "it does not run")
        settle(page)
        lease = {"sequence": claim["sequence"], "token": claim["token"]}
        place.ask("/v1/leases/extend", [{**lease, "by": "10m", "progress": {"fraction": 0.5, "text": "half of it"}}])
        until("its progress is shown", lambda: "half of it" in text(page))


def nothing_is_replaced_while_an_act_is_confirmed(bin_path):
    """What somebody is about to discard stays where it is."""
    with site(bin_path) as place, browser() as page:
        place.dead_letters("mail", "disk 7 is full", 2)
        open_live(page, f"{place.url}/dead")
        press(page, "Discard")
        place.dead_letters("sms", "no host", 9)
        page.execute_script("""
            window.ticks = 0;
            new EventSource("/events").addEventListener("tick", () => { window.ticks += 1; });""")
        until("time has passed", lambda: page.execute_script("return window.ticks") > 1)
        expect("no host" not in text(page), "the page was replaced")
        one(page, "details[open] summary").click()
        until("it goes on", lambda: "no host" in text(page))


def a_group_of_dead_letters_is_redriven(bin_path):
    with site(bin_path) as place, browser() as page:
        place.dead_letters("mail", "disk 7 of 12 is full", 5)
        place.dead_letters("mail", "no such host", 2)
        page.get(f"{place.url}/dead")
        settle(page)
        expect("disk # of # is full" in text(page), "the error is not there, with its numbers masked")
        rows = lambda: [row.text for row in page.find_elements(By.CSS_SELECTOR, "tbody tr")]
        until("the groups are there, the largest first", lambda: len(rows()) == 2 and rows()[0].startswith("5"))
        # The page brings itself up to date, and what was found in it is gone then.
        until("the button of the first is pressed", lambda: one(
            page, "tbody tr:first-child form[action='/dead/redrive'] button").click() is None)
        until("it says what was done", lambda: "5 dead letters back in line" in text(page, ".said"))
        expect("no such host" in text(page) and "disk #" not in text(page), "the other group is left alone")
        page.get(f"{place.url}/audit")
        expect("redrive group" in text(page) and "local" in text(page), "the act is not in the audit")


def filters_stand_in_the_address(bin_path):
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "needle & thread", "--header", "lang=de")
        place.command("enqueue", "mail", "hay")
        place.command("queue", "create", "bulk")
        place.command("queue", "create", "many")
        place.command("enqueue", "bulk", "needle")
        page.get(f"{place.url}/messages")
        expect(len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == 3, "all messages are there")
        # The page may bring itself up to date between the look for a field and the first key.
        fill = lambda name, *keys: until(f"{name} is filled in", lambda: one(page, f"input[name={name}]").send_keys(*keys) is None)
        fill("text", "needle & ")
        fill("queue", "mail", Keys.ENTER)
        until("one is found", lambda: len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1)
        expect("text=needle+%26+" in page.current_url and "queue=mail" in page.current_url, page.current_url)
        address = page.current_url
        page.get(f"{place.url}/messages?header=lang%3Dde")
        expect(len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1, "it is found by its header")
        page.get(address)
        expect(one(page, "input[name=text]").get_attribute("value") == "needle & ", "the field shows the filter")
        place.command("enqueue", "many", "--lines", stdin="x\n" * 120)
        page.get(f"{place.url}/messages?queue=many")
        # The newest page brings itself up to date, and what was found in it is gone then.
        numbers = lambda: [int(row.text) for row in page.find_elements(By.CSS_SELECTOR, "tbody th")]
        follow = lambda label: until(f"{label} leads on", lambda: page.find_element(
            By.PARTIAL_LINK_TEXT, label).click() is None)
        first = until("messages are shown", numbers)
        expect(first == sorted(first, reverse=True), "the newest is first")
        follow("older")
        until("older ones follow", lambda: numbers()[0] == first[-1] - 1)
        follow("newer")
        until("and the way leads back", lambda: numbers() == first)


def a_message_is_enqueued_by_hand(bin_path):
    with site(bin_path) as place, browser() as page:
        page.get(f"{place.url}/queues")
        one(page, "input[name=name]").send_keys("letters", Keys.ENTER)
        until("the queue is there", lambda: "is there" in text(page, ".said"))
        settle(page)
        one(page, "textarea[name=payload]").send_keys("{\"to\": \"<b>you</b>\", \"n\": 1.50}")
        press(page, "Enqueue")
        until("the message is shown", lambda: text(page, "h1").startswith("Message "))
        expect("\"to\": \"<b>you</b>\"" in text(page) and "1.50" in text(page), text(page))
        settle(page)
        page.find_element(By.LINK_TEXT, "hex").click()
        until("it is shown in hexadecimal", lambda: "7b 22 74 6f" in text(page))
        settle(page)
        press(page, "Cancel")
        until("it is cancelled", lambda: "cancelled" in text(page, ".head"))
        settle(page)
        page.find_element(By.PARTIAL_LINK_TEXT, "changed copy").click()
        until("the form has what it had", lambda: "\"n\": 1.50" in one(page, "textarea[name=payload]").get_attribute("value"))
        one(page, "textarea[name=payload]").send_keys(" ")
        press(page, "Enqueue")
        until("the copy is in line", lambda: "is ready" in text(page, ".said"))


def everything_works_without_a_script(bin_path):
    with site(bin_path) as place, browser(script=False) as page:
        said = lambda part: until(f"it says: {part}", lambda: part in text(page, ".said"))
        place.dead_letters("mail", "boom", 3)
        page.get(place.url)
        expect(not one(page, ".freshness").is_displayed(), "nothing is promised that a script would do")
        expect(not one(page, ".keys").is_displayed(), "nor a key")
        page.find_element(By.LINK_TEXT, "mail").click()
        until("the queue is shown", lambda: text(page, "h1") == "mail")
        press(page, "Pause")
        said("is paused")
        one(page, "textarea[name=payload]").send_keys("hello")
        press(page, "Enqueue")
        said("is ready")
        page.get(f"{place.url}/dead")
        press(page, "Discard")
        until("it asks", lambda: one(page, "details[open] button").is_displayed())
        one(page, "details[open] button").click()
        said("3 dead letters discarded")
        page.get(f"{place.url}/messages")
        one(page, "input[name=text]").send_keys("hello", Keys.ENTER)
        until("the filter works", lambda: len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1)


def keys_lead_the_way(bin_path):
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "one")
        page.get(place.url)
        expect(one(page, ".keys").is_displayed(), "they are told")
        press_key = lambda *keys: page.switch_to.active_element.send_keys(*keys)
        press_key(Keys.TAB)
        expect(page.execute_script("return document.activeElement.className") == "skip", "the first stop skips the head")
        outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        expect(outline != "none", "the focus is seen")
        press_key(Keys.ENTER)
        expect(page.execute_script("return document.activeElement.id") == "main", "it leads to the content")
        press_key("/")
        expect(page.execute_script("return document.activeElement.name") == "name", "/ leads to the filter")
        press_key("gd", Keys.ESCAPE)
        expect("/dead" not in page.current_url, "keys do something where somebody types")
        page.execute_script("document.activeElement.blur()")
        press_key("g", "d")
        until("g d leads to the dead letters", lambda: page.current_url.endswith("/dead"))


def a_token_is_asked_for(bin_path):
    with site(bin_path, start=False) as place, browser() as page:
        tokens = f"{place.folder}/tokens"
        with open(tokens, "w", encoding="utf-8", opener=private) as file:
            file.write("look 0123456789abcdef-look read\n")
        place.options = ("--token-file", tokens)
        place.command("enqueue", "mail", "one")
        place.start()
        page.get(f"{place.url}/queues/mail")
        one(page, "input[name=token]").send_keys("0123456789abcdef-none", Keys.ENTER)
        until("it is refused", lambda: "no such token" in text(page))
        expect(any("401" in line for line in read_console(page)), "a browser notes that it was refused")
        one(page, "input[name=token]").send_keys("0123456789abcdef-look", Keys.ENTER)
        until("the page is there", lambda: page.current_url.endswith("/queues/mail"))
        expect("look" in text(page, ".visitor"), "it says who is there")
        expect(not page.find_elements(By.CSS_SELECTOR, "main form[method=post]"), "no act is shown")
        expect(page.execute_script("return document.cookie") == "", "no script sees the token")
        until("it follows the store", lambda: "Live" in text(page, ".freshness"))
        press(page, "Sign out")
        until("it is left", lambda: "/login" in page.current_url)


def private(path, flags):
    """Opens a file that nobody else may read."""
    return os.open(path, flags, 0o600)
