"""What a page keeps while it brings itself up to date: the focus, what is open, and an act that is under way."""
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from stage import browser, expect, one, open_live, press, settle, site, text, until

FOCUSED_ROW = "const row = document.activeElement.closest('tr'); return row ? row.querySelector('td').textContent : '';"


def the_focus_goes_to_no_other_act(bin_path):
    """Groups change their places, and their numbers are in the names of their acts."""
    with site(bin_path) as place, browser() as page:
        place.dead_letters("mail", "disk 7 is full", 3)
        place.dead_letters("sms", "no host", 2)
        open_live(page, f"{place.url}/dead")
        page.execute_script("document.querySelector('tbody tr summary').focus()")
        expect(page.execute_script(FOCUSED_ROW) == "mail", "the largest group is not the first")
        place.dead_letters("sms", "no host", 5)
        until("the other group is the first", lambda: text(page, "tbody tr").startswith("7"))
        expect(page.execute_script(FOCUSED_ROW) == "mail", "the focus is on another group's act")
        # A group that is gone takes the focus with it, and no other one gets it.
        place.command("dead", "redrive", "--queue", "mail")
        until("the group is gone", lambda: "disk" not in text(page))
        expect(page.execute_script("return document.activeElement.id") == "main", "the focus is on another group's act")


def an_act_under_the_focus_stays(bin_path):
    with site(bin_path) as place, browser() as page:
        place.dead_letters("mail", "disk 7 is full", 3)
        open_live(page, f"{place.url}/dead")
        page.execute_script("document.querySelector('form[action=\"/dead/redrive\"] button').focus()")
        place.dead_letters("sms", "no host", 5)
        until("the page says that it waits", lambda: "Waits for you" in text(page, ".freshness"))
        expect("no host" not in text(page), "the page was replaced")
        page.switch_to.active_element.send_keys(Keys.ENTER)
        until("it says what was done", lambda: "3 dead letters back in line" in text(page, ".said"))


def a_page_goes_on_when_the_pointer_has_gone(bin_path):
    """Also one of a queue in which nothing happens any more."""
    with site(bin_path) as place, browser() as page:
        place.dead_letters("mail", "disk 7 is full", 3)
        open_live(page, f"{place.url}/dead?queue=mail")
        ActionChains(page).move_to_element(one(page, "form[action='/dead/redrive'] button")).perform()
        place.dead_letters("mail", "disk 8 is full", 2)
        until("the page says that it waits", lambda: "Waits for you" in text(page, ".freshness"))
        ActionChains(page).move_to_element(one(page, "h1")).perform()
        until("it shows what there is", lambda: text(page, "tbody th") == "5")


def the_focus_stays_in_its_row(bin_path):
    """All rows of a list lead to the same queue."""
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "--lines", stdin="letter\n" * 20)
        open_live(page, f"{place.url}/messages?queue=mail")
        page.execute_script("document.querySelectorAll('td[data-label=queue] a')[9].focus()")
        row = "return document.activeElement.closest('tr').querySelector('th').textContent"
        number = page.execute_script(row)
        newest = int(text(page, "tbody th"))
        place.command("enqueue", "mail", "one more")
        until("the new message is there", lambda: int(text(page, "tbody th")) > newest)
        expect(page.execute_script(row) == number, "the focus is in another row")


def an_act_is_asked_for_once(bin_path):
    with site(bin_path) as place, browser() as page:
        page.get(f"{place.url}/queues/mail")
        settle(page)
        one(page, "textarea[name=payload]").send_keys("once")
        again = page.execute_script("""
            const form = document.querySelector("form[action$='/enqueue']");
            let wasRefused = null;
            form.requestSubmit();
            addEventListener("submit", (event) => { wasRefused = event.defaultPrevented; });
            form.requestSubmit();
            return wasRefused;""")
        expect(again is True, "the form was sent again")
        until("the message is shown", lambda: text(page, "h1").startswith("Message "))
        page.get(f"{place.url}/messages?queue=mail")
        expect(len(page.find_elements(By.CSS_SELECTOR, "tbody th")) == 1, "there is more than one message")


def what_was_opened_stays_open(bin_path):
    with site(bin_path) as place, browser() as page:
        open_live(page, f"{place.url}/queues/mail")
        press(page, "More")
        page.execute_script("""
            window.ticks = 0;
            new EventSource("/events").addEventListener("tick", () => { window.ticks += 1; });""")
        place.command("enqueue", "mail", "one")
        until("time has passed", lambda: page.execute_script("return window.ticks") > 1)
        one(page, "input[name=headers], textarea[name=headers]").send_keys("kind: letter")


def ages_grow(bin_path):
    """Also on a page of which there is no news."""
    with site(bin_path) as place, browser() as page:
        place.command("enqueue", "mail", "one")
        open_live(page, f"{place.url}/messages?queue=mail")
        age = lambda: text(page, "td[data-label=accepted] time")
        first = age()
        until("it has grown", lambda: age() != first and age().endswith(" ago"))
